/*
 * gpu_sf.cu
 *		Inserts into sf by several threads of the host; updates the slim table on the device.
 *
 * A batch of keys changes the fat table in host memory (src/sketch/sf.c).  Each thread owns a range
 * of buckets, so no counter needs an atomic operation.  Each piece of a batch takes three steps:
 *
 *	1. each thread hashes its slice of the keys, and counts the keys by owner;
 *	2. each thread copies the hashes of its keys into an array that is sorted by owner;
 *	3. each owner adds its keys with the structure's own add(), BATCH keys at a time.  While
 *		the buckets of these keys are in the cache, the owner copies the slim bucket of
 *		each key, with the bucket's number, to pinned memory.
 *
 * The device updates slim buckets by atomicMax.  Slim counters only grow, so a bucket may be sent
 * in any order and any number of times.  The paper copies the counters of each key separately.
 * This program collects the slim buckets of a piece's keys in a buffer, the slot.  All buckets of a
 * slot are transferred together, while the next keys are added.
 *
 * This is the paper's insertion, for tests and benchmarks.  Inside PostgreSQL, the CPU makes sf
 * sketches, and only their slim tables are copied to the device, for lookups.
 *
 * Bytes copied to the device for each key: 4 for the bucket's number, and 32 (wide: 64) of
 * counters.
 *
 * bench/gpu_sf.cu
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

extern "C"
{
#include "sketch/sf.h"
}

#include "sketch_kernels.cuh"

#include "gpu_extra.h"

#define THREADS_MAX 256
#define OWNED       64  /* number of neighbouring buckets that have one owner */
#define BATCH       512 /* number of keys that an owner adds at a time */

/* Update slim buckets from a slot, which has the numbers of buckets and then their counters. */
template <typename Counter>
__global__ void
__launch_bounds__(QS_BLOCK)
	raise_slim(Counter *table, const uint32_t *bucket, const Counter *counter, uint64_t count)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < count * QS_SF_WIDTH;
		 i += stride)
	{
		Counter *own = &table[(uint64_t) bucket[i / QS_SF_WIDTH] * QS_SF_WIDTH + i % QS_SF_WIDTH];

		if (counter[i] > *own)
			atomicMax(own, counter[i]);
	}
}

/* The work of one call, which all threads share. */
struct sf_work
{
	qs_cuda_sketch *slim;
	qs_sketch *full;
	const uint64_t *key;
	const int64_t *weight;
	uint64_t count;
	uint64_t piece;       /* number of keys that fit into a slot */
	int threads;          /* number of threads, at most the number of stretches */
	uint64_t share;       /* factor of owner_of() */
	pthread_mutex_t gate; /* locked until all threads are started */
	pthread_barrier_t barrier;
	uint64_t *hv;      /* hashes of a slot's keys, sorted by owner */
	int64_t *gathered; /* weights of these keys */
	uint64_t *owned;   /* [thread][owner]: number of keys */
	qs_slot *slot;     /* the current slot */
	qb_status status;  /* first error of the device */
};

struct sf_thread
{
	sf_work *work;
	int number;
	pthread_t handle;
};

static size_t
bucket_bytes(const qs_sketch *full)
{
	return QS_SF_WIDTH * (full->wide ? 8 : 4);
}

/*
 * Return the number of stretches.  A stretch is OWNED buckets that have one owner and fill whole
 * cache lines.
 */
static inline uint64_t
stretches(const qs_sketch *full)
{
	return qs_ceil_div(full->params.n, OWNED);
}

/* Return the thread that owns the bucket of hv. */
static inline int
owner_of(const sf_work *w, uint64_t hv)
{
	return (int) qb_mul_high(qb_reduce(hv, w->full->params.n) / OWNED, w->share);
}

/* Return the factor with which owner_of() divides the stretches evenly among the threads. */
static uint64_t
share_of(const sf_work *w)
{
	return (uint64_t) ((((unsigned __int128) w->threads << 64) - 1) / stretches(w->full));
}

/* Step 1: count the keys of this thread's slice by owner. */
static void
count_owners(sf_work *w, int thread, uint64_t at, uint64_t begin, uint64_t end)
{
	uint64_t *owned = &w->owned[(size_t) thread * w->threads];
	uint64_t seed_key = w->full->seed_key;

	memset(owned, 0, w->threads * sizeof(*owned));
	for (uint64_t i = begin; i < end; i++)
		owned[owner_of(w, qb_hash(w->key[at + i], seed_key))]++;
}

/*
 * Set the index of this thread's first key of each owner.  Keys are sorted by owner, then by
 * thread.
 */
static void
place_owners(const sf_work *w, int thread, uint64_t *next)
{
	uint64_t sum = 0;

	for (int owner = 0; owner < w->threads; owner++)
		for (int t = 0; t < w->threads; t++)
		{
			if (t == thread)
				next[owner] = sum;
			sum += w->owned[(size_t) t * w->threads + owner];
		}
}

/* Step 2: copy the hashes and weights of this thread's slice, sorted by owner. */
static void
gather(sf_work *w, uint64_t *next, uint64_t at, uint64_t begin, uint64_t end)
{
	uint64_t seed_key = w->full->seed_key;

	for (uint64_t i = begin; i < end; i++)
	{
		uint64_t hv = qb_hash(w->key[at + i], seed_key);
		uint64_t to = next[owner_of(w, hv)]++;

		w->hv[to] = hv;
		if (w->weight)
			w->gathered[to] = w->weight[at + i];
	}
}

/*
 * Step 3: add the owner's keys from "begin" to "end", and copy their slim buckets into the slot.
 * Buckets are prefetched for a whole batch.
 */
static void
add_owned(sf_work *w, uint64_t begin, uint64_t end)
{
	size_t bytes = bucket_bytes(w->full);
	uint32_t *bucket = (uint32_t *) w->slot->host;
	uint8_t *counters = w->slot->host + w->piece * sizeof(uint32_t);

	for (uint64_t i = begin; i < end; i += BATCH)
	{
		size_t count = end - i < BATCH ? end - i : BATCH;

		for (size_t k = i; k < i + count; k++)
		{
			bucket[k] = (uint32_t) qb_reduce(w->hv[k], w->full->params.n);
			__builtin_prefetch(w->full->table + bucket[k] * bytes, 1);
		}
		w->full->ops->add(w->full, &w->hv[i], w->weight ? &w->gathered[i] : NULL, count);
		for (size_t k = i; k < i + count; k++)
			memcpy(counters + k * bytes, w->full->table + bucket[k] * bytes, bytes);
	}
}

/* Set the bounds of an owner's keys in the sorted array. */
static void
owned_range(const sf_work *w, int owner, uint64_t *begin, uint64_t *end)
{
	*begin = *end = 0;
	for (int t = 0; t < w->threads; t++)
		for (int o = 0; o <= owner; o++)
		{
			uint64_t keys = w->owned[(size_t) t * w->threads + o];

			*begin += o < owner ? keys : 0;
			*end += keys;
		}
}

/* Queue the transfer of a slot, and the kernel that updates the slim table. */
static qb_status
send_slot(sf_work *w, uint64_t count)
{
	qs_cuda *gpu = w->slim->gpu;
	size_t numbers = w->piece * sizeof(uint32_t);
	size_t bytes = count * bucket_bytes(w->full);
	const uint32_t *bucket = (const uint32_t *) w->slot->device;
	const uint8_t *counters = w->slot->device + numbers;
	uint8_t *table = w->slim->view.table;

	QS_CUDA_TRY(gpu, cudaMemcpyAsync(w->slot->device, w->slot->host, count * sizeof(uint32_t),
									 cudaMemcpyHostToDevice, gpu->in));
	QS_CUDA_TRY(gpu, cudaMemcpyAsync(w->slot->device + numbers, w->slot->host + numbers, bytes,
									 cudaMemcpyHostToDevice, gpu->in));
	QS_CUDA_TRY(gpu, cudaEventRecord(w->slot->arrived, gpu->in));
	QS_CUDA_TRY(gpu, cudaStreamWaitEvent(gpu->stream, w->slot->arrived, 0));
	if (w->full->wide)
		QS_TRY(qs_launch(gpu, raise_slim<qs_u64>, count * QS_SF_WIDTH, (qs_u64 *) table, bucket,
						 (const qs_u64 *) counters, count));
	else
		QS_TRY(qs_launch(gpu, raise_slim<uint32_t>, count * QS_SF_WIDTH, (uint32_t *) table, bucket,
						 (const uint32_t *) counters, count));
	QS_CUDA_TRY(gpu, cudaEventRecord(w->slot->done, gpu->stream));
	return QB_OK;
}

/* Wait until the device has finished with a slot, and make it the current slot. */
static qb_status
take_slot(sf_work *w, uint64_t number)
{
	qs_cuda *gpu = w->slim->gpu;

	w->slot = &gpu->slot[number % QS_SLOTS];
	QS_CUDA_TRY(gpu, cudaEventSynchronize(w->slot->done));
	return QB_OK;
}

/* Do the work of one thread.  Thread 0 is the caller, and also controls the device. */
static void
run_thread(sf_work *w, int thread)
{
	uint64_t next[THREADS_MAX];
	uint64_t number = 0;

	for (uint64_t at = 0; at < w->count; at += w->piece)
	{
		uint64_t count = w->count - at < w->piece ? w->count - at : w->piece;
		uint64_t begin = count * thread / w->threads;
		uint64_t end = count * (thread + 1) / w->threads;

		count_owners(w, thread, at, begin, end);
		pthread_barrier_wait(&w->barrier);
		place_owners(w, thread, next);
		gather(w, next, at, begin, end);
		if (thread == 0 && w->status == QB_OK)
			w->status = take_slot(w, number);
		number++;
		pthread_barrier_wait(&w->barrier);
		owned_range(w, thread, &begin, &end);
		add_owned(w, begin, end);
		pthread_barrier_wait(&w->barrier);
		if (thread == 0 && w->status == QB_OK)
			w->status = send_slot(w, count);
	}
}

/* Wait until all threads are started, then work. */
static void *
thread_main(void *argument)
{
	sf_thread *t = (sf_thread *) argument;
	sf_work *w = t->work;

	pthread_mutex_lock(&w->gate);
	pthread_mutex_unlock(&w->gate);
	run_thread(w, t->number);
	return NULL;
}

/*
 * Start the other threads, and work as thread 0.  If a thread cannot be started, the started
 * threads do all the work.  Only the caller's thread handles signals.
 */
static void
run_threads(sf_work *w, sf_thread *thread)
{
	sigset_t all, before;
	int started = 1;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_mutex_lock(&w->gate);
	for (; started < w->threads; started++)
	{
		thread[started] = { w, started, {} };
		if (pthread_create(&thread[started].handle, NULL, thread_main, &thread[started]) != 0)
			break;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	w->threads = started;
	w->share = share_of(w);
	pthread_barrier_init(&w->barrier, NULL, (unsigned) started);
	pthread_mutex_unlock(&w->gate);
	run_thread(w, 0);
	for (int i = 1; i < started; i++)
		pthread_join(thread[i].handle, NULL);
	pthread_barrier_destroy(&w->barrier);
}

static bool
same_sketch(const qs_cuda_sketch *slim, const qs_sketch *full)
{
	qs_params p = full->params;

	p.part = QS_PART_DEVICE;
	return full->params.structure == QS_SF && full->params.part == QS_PART_FULL &&
		   full->encoding == QS_DENSE && slim->total == full->total &&
		   qs_params_mergeable(&p, &slim->params);
}

/* Prepare both parts for additional weight "sum", with counters of the same width. */
static qb_status
prepare(qs_cuda_sketch *slim, qs_sketch *full, int64_t sum)
{
	if (sum < 0)
		return QB_TOTAL_OVERFLOW;
	QS_TRY(qs_cuda_prepare(slim, sum, 0, false));
	QS_TRY(qs_prepare(full, sum));
	return full->wide && !slim->view.wide ? qs_widen(slim) : QB_OK;
}

qb_status
qs_cuda_sf_insert(qs_cuda_sketch *slim, qs_sketch *full, const uint64_t *key, const int64_t *weight,
				  size_t count, int threads)
{
	sf_thread thread[THREADS_MAX];
	int64_t sum = qs_weight_sum(weight, count);
	sf_work w = {};

	QS_TRY(qs_cuda_sync(slim->gpu));
	if (!same_sketch(slim, full))
		return QB_MISMATCH;
	QS_TRY(prepare(slim, full, sum));
	w.slim = slim;
	w.full = full;
	w.key = key;
	w.weight = weight;
	w.count = count;
	w.piece = slim->gpu->slot_bytes / (sizeof(uint32_t) + bucket_bytes(full)) / 64 * 64;
	w.threads = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
	if ((uint64_t) w.threads > stretches(full))
		w.threads = (int) stretches(full);
	w.gate = PTHREAD_MUTEX_INITIALIZER;
	w.hv = (uint64_t *) malloc(w.piece * sizeof(uint64_t));
	w.gathered = (int64_t *) malloc(weight ? w.piece * sizeof(int64_t) : 1);
	w.owned = (uint64_t *) malloc((size_t) w.threads * w.threads * sizeof(uint64_t));
	if (w.hv && w.gathered && w.owned)
	{
		run_threads(&w, thread);
		full->total += sum;
		slim->total += sum;
	}
	else
		w.status = QB_NO_MEMORY;
	free(w.hv);
	free(w.gathered);
	free(w.owned);
	return w.status;
}
