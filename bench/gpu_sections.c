/*
 * gpu_sections.c
 *		The sections of the GPU benchmark.
 *
 * bench/gpu_sections.c
 */
#include <time.h>

#include "gpu_bench.h"

static const int structures[] = { QS_THREAD, QS_WARP, QS_HALF_WARP, QS_SUB_WARP, QS_MULTILEVEL };

#define STRUCTURES (sizeof(structures) / sizeof(structures[0]))

typedef struct copy_job
{
	void *to, *from;
	size_t bytes;
} copy_job;

static void
run_copy(void *argument)
{
	copy_job *c = argument;

	CHECK_CUDA(cudaMemcpyAsync(c->to, c->from, c->bytes, cudaMemcpyDefault, g.stream));
}

/* Print properties of the device, and its speed of copying. */
void
section_device(void)
{
	copy_job c = { .bytes = GB };
	qs_cuda_device d;
	qs_cuda_error error;
	char date[32];
	time_t now = time(NULL);
	void *pageable = malloc(GB);

	CHECK(qs_cuda_device_get(0, &d, &error) == QB_OK);
	strftime(date, sizeof(date), "%Y-%m-%d", gmtime(&now));
	printf("device\t%s\t%llu\t0\tdriver %d.%d, runtime %d.%d, %s\t%d\tmultiprocessors\n", d.name,
		   (unsigned long long) d.memory_bytes, d.driver / 1000, d.driver % 100 / 10,
		   d.runtime / 1000, d.runtime % 100 / 10, date, d.multiprocessors);
	print("device", "copy", 0, 0, "L2", (double) d.l2_bytes / 1e6, "MB");
	c.to = g.estimate;
	c.from = g.key;
	print("device", "copy", 0, 0, "device to device, read and written",
		  2.0 * (double) GB / measure(run_copy, &c) * 1e-9, "TB/s");
	CHECK(qs_cuda_host_alloc(g.gpu, GB, &c.from) == QB_OK);
	memset(c.from, 1, GB);
	print("device", "copy", 0, 0, "pinned host to device",
		  (double) GB / measure(run_copy, &c) * 1e-6, "GB/s");
	qs_cuda_host_free(g.gpu, c.from);
	memset(pageable, 1, GB);
	c.from = pageable;
	print("device", "copy", 0, 0, "pageable host to device",
		  (double) GB / measure(run_copy, &c) * 1e-6, "GB/s");
	free(pageable);
}

/* Measure direct inserts and queries of all structures but sf by table size, with uniform keys. */
void
section_sizes(void)
{
	static const uint64_t sizes[] = { 16 * MB, 64 * MB, 256 * MB, GB, 4 * GB, 16 * GB, 32 * GB };

	use_keys(KEYS_UNIFORM);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		time_ceiling("sizes", GK_READ_SECTOR, sizes[i], KEYS, "query");
		time_ceiling("sizes", GK_READ_SECTOR_OF4, sizes[i], KEYS, "query, 4-byte answer");
		time_ceiling("sizes", GK_ADD_RANDOM, sizes[i], KEYS, "insert");
		for (size_t s = 0; s < STRUCTURES; s++)
			time_sketch("sizes", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_NEVER, "insert",
						"query");
	}
}

/* Measure bulk inserts and direct inserts. */
void
section_bulk(void)
{
	static const uint64_t sizes[] = { 16 * MB, 32 * MB, 64 * MB, 256 * MB,
									  GB,      4 * GB,  16 * GB, 32 * GB };

	use_keys(KEYS_UNIFORM);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (size_t s = 0; s < STRUCTURES; s++)
		{
			time_sketch("bulk", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_NEVER, "direct",
						NULL);
			time_sketch("bulk", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_ALWAYS, "bulk", NULL);
			time_sketch("bulk", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_AUTO, "auto", NULL);
		}
}

/*
 * Measure batches of 2^20 to KEYS keys for tables of 4 GB, to find the size from which bulk
 * inserts are faster than direct inserts.
 */
void
section_batches(void)
{
	use_keys(KEYS_UNIFORM);
	for (uint64_t keys = UINT64_C(1) << 20; keys <= KEYS; keys *= 2)
		for (size_t s = 0; s < STRUCTURES; s++)
			if (structures[s] != QS_WARP && structures[s] != QS_HALF_WARP)
			{
				time_sketch("batches", structures[s], 4 * GB, DEPTH, keys, QS_BULK_NEVER, "direct",
							NULL);
				time_sketch("batches", structures[s], 4 * GB, DEPTH, keys, QS_BULK_ALWAYS, "bulk",
							NULL);
				time_sketch("batches", structures[s], 4 * GB, DEPTH, keys, QS_BULK_AUTO, "auto",
							NULL);
			}
}

/* Measure inserts and queries of skewed keys. */
void
section_skew(void)
{
	static const key_kind kinds[] = { KEYS_UNIFORM, KEYS_ZIPF_11, KEYS_ZIPF_15, KEYS_EQUAL };
	static const uint64_t sizes[] = { 16 * MB, GB };
	char name[64];

	for (size_t k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		use_keys(kinds[k]);
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
			for (size_t s = 0; s < STRUCTURES; s++)
			{
				snprintf(name, sizeof(name), "%s, direct", key_kind_names[kinds[k]]);
				time_sketch("skew", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_NEVER, name,
							key_kind_names[kinds[k]]);
				snprintf(name, sizeof(name), "%s, auto", key_kind_names[kinds[k]]);
				if (i >
					0) /* the first table is in the L2 cache, so all keys are inserted directly */
					time_sketch("skew", structures[s], sizes[i], DEPTH, KEYS, QS_BULK_AUTO, name,
								NULL);
			}
	}
}

/*
 * Measure what the authors left open: depths, and sequential access.  section_sizes() measures
 * random access.
 */
void
section_depth(void)
{
	char insert[64], query[64];

	use_keys(KEYS_UNIFORM);
	for (int depth = 1; depth <= 5; depth++)
		for (size_t s = 0; s < STRUCTURES; s++)
		{
			snprintf(insert, sizeof(insert), "d=%d insert", depth);
			snprintf(query, sizeof(query), "d=%d query", depth);
			time_sketch("depth", structures[s], 4 * GB, depth, KEYS, QS_BULK_NEVER, insert, query);
		}
	time_ceiling("access", GK_READ_SEQUENTIAL, 4 * GB, KEYS, "sequential read of a sector");
	time_ceiling("access", GK_ADD_SEQUENTIAL, 4 * GB, KEYS, "sequential atomic");
}

typedef struct host_job
{
	qs_cuda_sketch *sk;
	qs_sketch *full;
	const uint64_t *key;
	int64_t *estimate;
	uint64_t keys;
	int threads;
} host_job;

static void
run_host_insert(void *argument)
{
	host_job *h = argument;

	CHECK(qs_cuda_insert(h->sk, h->key, NULL, h->keys) == QB_OK);
}

static void
run_host_query(void *argument)
{
	host_job *h = argument;

	CHECK(qs_cuda_query(h->sk, h->key, h->keys, h->estimate) == QB_OK);
}

/* Measure inserts from pinned and from pageable host memory, and queries from pinned memory. */
void
section_host(void)
{
	enum
	{
		HOST_KEYS = 1 << 27
	};
	qs_params p = params_of(QS_SUB_WARP, GB, DEPTH);
	host_job h = { .keys = HOST_KEYS };
	uint64_t *pinned;

	CHECK(qs_cuda_host_alloc(g.gpu, HOST_KEYS * 8, (void **) &pinned) == QB_OK);
	CHECK(qs_cuda_host_alloc(g.gpu, HOST_KEYS * 8, (void **) &h.estimate) == QB_OK);
	make_keys(pinned, KEYS_UNIFORM, 1, 0, HOST_KEYS);
	qs_cuda_set_bulk(g.gpu, QS_BULK_AUTO);
	CHECK(qs_cuda_create(g.gpu, &p, &h.sk) == QB_OK);
	h.key = pinned;
	print("host", "sub_warp", GB, HOST_KEYS, "insert, pinned",
		  gkeys(HOST_KEYS, measure_host(run_host_insert, &h)), "Gkeys/s");
	print("host", "sub_warp", GB, HOST_KEYS, "query, pinned",
		  gkeys(HOST_KEYS, measure_host(run_host_query, &h)), "Gkeys/s");
	h.key = malloc(HOST_KEYS * sizeof(uint64_t));
	CHECK(h.key);
	memcpy((void *) (uintptr_t) h.key, pinned, HOST_KEYS * 8);
	print("host", "sub_warp", GB, HOST_KEYS, "insert, pageable",
		  gkeys(HOST_KEYS, measure_host(run_host_insert, &h)), "Gkeys/s");
	/* the total must be the number of keys inserted by all runs */
	g.mistakes += qs_cuda_total(h.sk) != (int64_t) HOST_KEYS * 2 * (RUNS + 1);
	qs_cuda_destroy(h.sk);
	qs_cuda_host_free(g.gpu, pinned);
	qs_cuda_host_free(g.gpu, h.estimate);
	free((void *) (uintptr_t) h.key);
}

static void
run_sf_insert(void *argument)
{
	host_job *h = argument;

	CHECK(qs_cuda_sf_insert(h->sk, h->full, h->key, NULL, h->keys, h->threads) == QB_OK);
}

/* Check that the device's estimates equal the host's. */
static void
check_sf(host_job *h)
{
	enum
	{
		QUERIES = 1 << 20
	};
	int64_t *device = malloc(QUERIES * sizeof(int64_t));
	int64_t *cpu = malloc(QUERIES * sizeof(int64_t));

	CHECK(device && cpu);
	CHECK(qs_cuda_query(h->sk, h->key, QUERIES, device) == QB_OK);
	qs_query(h->full, h->key, QUERIES, cpu);
	g.mistakes += memcmp(device, cpu, QUERIES * sizeof(int64_t)) != 0;
	free(device);
	free(cpu);
}

/* Measure inserts into sf on the host, and queries on the device. */
void
section_sf(void)
{
	enum
	{
		SF_KEYS = 1 << 25,
		FEW_KEYS = 1 << 22
	};
	static const uint64_t sizes[] = { 16 * MB, 256 * MB, GB };
	static const int threads[] = { 1, 4, 8, 16 };
	uint64_t *key = malloc(SF_KEYS * sizeof(uint64_t));
	char name[64];

	CHECK(key);
	use_keys(KEYS_UNIFORM);
	make_keys(key, KEYS_UNIFORM, 12345, 0, SF_KEYS);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		qs_params p = params_of(QS_SF, sizes[i], DEPTH);
		host_job h = { .key = key, .keys = SF_KEYS };
		job j = { .keys = KEYS };
		qs_sketch full;

		dense_init(&full, &p);
		h.full = &full;
		CHECK(qs_cuda_load(g.gpu, &full, &h.sk) == QB_OK);
		for (size_t t = i == 1 ? 0 : 3; t < 4; t++)
		{
			h.threads = threads[t];
			h.keys = h.threads < 8 ? FEW_KEYS : SF_KEYS;
			snprintf(name, sizeof(name), "insert, %d threads", threads[t]);
			print("sf", "sf", sizes[i], h.keys, name,
				  gkeys(h.keys, measure_host(run_sf_insert, &h)) * 1e3, "Mkeys/s");
		}
		check_sf(&h);
		j.sk = h.sk;
		print("sf", "sf", sizes[i], KEYS, "query", gkeys(KEYS, measure(run_query, &j)), "Gkeys/s");
		qs_cuda_destroy(h.sk);
		qs_free(&full);
	}
	free(key);
}

/* Insert all keys and query them, for the profiler. */
void
section_profile(void)
{
	static const int profiled[] = { QS_SUB_WARP, QS_MULTILEVEL };

	use_keys(KEYS_UNIFORM);
	for (int i = 0; i < 2; i++)
	{
		qs_params p = params_of(profiled[i], 4 * GB, DEPTH);
		job j = { .keys = KEYS };

		CHECK(qs_cuda_create(g.gpu, &p, &j.sk) == QB_OK);
		qs_cuda_set_bulk(g.gpu, QS_BULK_NEVER);
		run_insert(&j);
		run_query(&j);
		qs_cuda_set_bulk(g.gpu, QS_BULK_ALWAYS);
		run_insert(&j);
		CHECK(qs_cuda_sync(g.gpu) == QB_OK);
		qs_cuda_destroy(j.sk);
	}
}
