/*
 * sets_data.c
 *		Generates sets and collections for the benchmark, and loads real collections.
 *
 * Zipf numbers are drawn by rejection from the integral of their density (Hoermann and Derflinger),
 * so the cost does not depend on the universe.
 *
 * bench/sets_data.c
 */
#define _POSIX_C_SOURCE 200809L /* popen, posix_memalign */

#include "sets_data.h"

#include <math.h>
#include <pthread.h>

#include "base/hash.h"

static void *
data_alloc(void *context, size_t bytes)
{
	void *p;

	(void) context;
	if (posix_memalign(&p, 64, bytes) != 0)
		return NULL;
	return memset(p, 0, bytes);
}

static void
data_release(void *context, void *pointer)
{
	(void) context;
	free(pointer);
}

const qb_memory data_memory = { .alloc = data_alloc, .release = data_release };
const qb_keys data_keys = { .family = 1 };

static uint64_t
next_random(uint64_t *state)
{
	return qb_mix64(*state += UINT64_C(0x9E3779B97F4A7C15));
}

static double
next_unit(uint64_t *state)
{
	return (double) (next_random(state) >> 11) * 0x1p-53;
}

typedef struct zipf
{
	double n;
	double theta; /* not 1 */
	double first;
	double last;
	double shortcut;
} zipf;

static double
integral(const zipf *z, double x)
{
	return (pow(x, 1 - z->theta) - 1) / (1 - z->theta);
}

static double
inverse(const zipf *z, double y)
{
	return pow(1 + y * (1 - z->theta), 1 / (1 - z->theta));
}

static zipf
make_zipf(uint64_t n, double theta)
{
	zipf z = { (double) n, theta, 0, 0, 0 };

	z.first = integral(&z, 1.5) - 1;
	z.last = integral(&z, z.n + 0.5);
	z.shortcut = 2 - inverse(&z, integral(&z, 2.5) - pow(2, -theta));
	return z;
}

static uint32_t
next_zipf(const zipf *z, uint64_t *state)
{
	for (;;)
	{
		double u = z->last + next_unit(state) * (z->first - z->last);
		double x = inverse(z, u);
		double k = floor(x + 0.5);

		k = k < 1 ? 1 : k > z->n ? z->n : k;
		if (k - x <= z->shortcut || u >= integral(z, k + 0.5) - pow(k, -z->theta))
			return (uint32_t) k - 1;
	}
}

static uint32_t
next_normal(uint64_t universe, double deviation, uint64_t *state)
{
	double radius = sqrt(-2 * log(1 - next_unit(state)));
	double x =
		(double) universe / 2 + deviation * radius * cos(6.283185307179586 * next_unit(state));

	return x < 0 ? 0 : x >= (double) universe ? (uint32_t) universe - 1 : (uint32_t) x;
}

uint32_t *
data_set(distribution d, uint64_t universe, uint64_t draws, uint64_t seed, uint64_t *count)
{
	uint32_t *set = malloc((draws + QSET_SLACK) * sizeof(*set));
	uint32_t *scratch = malloc(draws * sizeof(*scratch));
	zipf z = make_zipf(universe, 0.9);
	uint64_t state = qb_mix64(seed);
	uint64_t i;

	require(set && scratch, "out of memory");
	for (i = 0; i < draws; i++)
		set[i] = d == UNIFORM  ? (uint32_t) qb_mul_high(next_random(&state), universe)
				 : d == NORMAL ? next_normal(universe, (double) draws / 10, &state)
							   : next_zipf(&z, &state);
	*count = draws;
	qset_sort_unique32((int32_t *) set, count, (int32_t *) scratch, NULL);
	free(scratch);
	return set;
}

/* Return a size from the truncated Pareto distribution. */
static uint64_t
next_size(const recipe *r, uint64_t *state)
{
	double low = pow(r->least, r->alpha);
	double high = pow(r->most, r->alpha);
	double u = next_unit(state);

	return (uint64_t) pow(-(u * high - u * low - high) / (high * low), -1 / r->alpha);
}

/*
 * Draw a set.  If r->alpha is 0, make r->draws draws.  Otherwise draw elements until the set has a
 * random size, and drop surplus elements at random.
 */
static uint64_t
draw_set(const recipe *r, const zipf *z, uint64_t *state, uint32_t *set, uint32_t *scratch)
{
	uint64_t size = r->alpha > 0 ? next_size(r, state) : r->draws;
	uint64_t count = 0;

	do
	{
		uint64_t more = r->alpha > 0 ? (size - count) * 5 / 4 + 4 : size;

		for (; more > 0; more--)
			set[count++] = next_zipf(z, state);
		qset_sort_unique32((int32_t *) set, &count, (int32_t *) scratch, NULL);
	}
	while (r->alpha > 0 && count < size);
	for (; count > size; count--)
	{
		uint64_t gone = next_random(state) % count;

		memmove(set + gone, set + gone + 1, (count - gone - 1) * sizeof(*set));
	}
	return count;
}

void
data_collection(qset_collection *c, const recipe *r, uint64_t seed)
{
	uint64_t most = 2 * ((uint64_t) r->most + r->draws) + 100;
	uint32_t *set = malloc(most * sizeof(*set));
	uint32_t *scratch = malloc(most * sizeof(*scratch));
	int64_t *id = malloc(most * sizeof(*id));
	uint64_t *low = malloc(most * sizeof(*low));
	zipf z = make_zipf(r->universe, r->theta);
	qset_builder b;
	uint64_t i;

	require(set && scratch && id && low, "out of memory");
	qset_builder_init(&b, false, &data_keys, &data_memory);
	for (i = 0; i < r->sets; i++)
	{
		uint64_t state = qb_mix64(seed + i * 77);
		uint64_t n = draw_set(r, &z, &state, set, scratch);
		uint64_t e;

		for (e = 0; e < n; e++)
		{
			id[e] = (int64_t) i;
			low[e] = set[e];
		}
		require(qset_builder_add(&b, id, low, NULL, n) == QB_OK, "out of memory");
	}
	require(qset_builder_finish(&b, c) == QB_OK, "out of memory");
	qset_builder_free(&b);
	free(set);
	free(scratch);
	free(id);
	free(low);
}

/* A thread's slice of data_drawn(): each "step"th set, from "first" on. */
typedef struct drawing
{
	const recipe *r;
	uint64_t seed;
	uint64_t first;
	uint64_t step;
	uint32_t **set;
	uint64_t *size;
	pthread_t thread;
} drawing;

static void *
draw_slice(void *context)
{
	drawing *d = context;
	uint64_t most = 2 * ((uint64_t) d->r->most + d->r->draws) + 100;
	uint32_t *set = malloc(most * sizeof(*set));
	uint32_t *scratch = malloc(most * sizeof(*scratch));
	zipf z = make_zipf(d->r->universe, d->r->theta);
	uint64_t i;

	require(set && scratch, "out of memory");
	for (i = d->first; i < d->r->sets; i += d->step)
	{
		uint64_t state = qb_mix64(d->seed + i * 77);

		d->size[i] = draw_set(d->r, &z, &state, set, scratch);
		d->set[i] = malloc((d->size[i] + 1) * sizeof(*set));
		require(d->set[i], "out of memory");
		memcpy(d->set[i], set, d->size[i] * sizeof(*set));
	}
	free(set);
	free(scratch);
	return NULL;
}

void
data_drawn(qset_collection *c, const recipe *r, uint64_t seed, int threads)
{
	drawing *d = calloc((size_t) threads, sizeof(*d));
	uint32_t **set = calloc(r->sets, sizeof(*set));
	uint64_t *size = calloc(r->sets, sizeof(*size));
	uint64_t at = 0;
	uint64_t i;
	int t;

	require(d && set && size, "out of memory");
	for (t = 0; t < threads; t++)
	{
		d[t] = (drawing){ r, seed, (uint64_t) t, (uint64_t) threads, set, size, 0 };
		require(pthread_create(&d[t].thread, NULL, draw_slice, &d[t]) == 0, "no thread");
	}
	for (t = 0; t < threads; t++)
		pthread_join(d[t].thread, NULL);
	memset(c, 0, sizeof(*c));
	c->keys = data_keys;
	c->sets = r->sets;
	c->universe = r->universe;
	for (i = 0; i < r->sets; i++)
		c->elements += size[i];
	require(qset_collection_alloc(c, &data_memory) == QB_OK, "out of memory");
	for (i = 0; i < r->sets; i++)
	{
		c->id[i] = (int64_t) i;
		memcpy(c->rank + at, set[i], size[i] * sizeof(*c->rank));
		at += size[i];
		c->offset[i + 1] = at;
		free(set[i]);
	}
	for (i = 0; i < r->universe; i++)
		c->low[i] = i;
	free(d);
	free(set);
	free(size);
}

/* The folder of the data, as a string of the shell. */
#define DATA "\"${QSKETCH_DATA:-../shared/data}\"/"

/* Add sessions, which are lines of numbers. */
static void
add_lines(FILE *f, qset_builder *b, uint64_t most)
{
	char line[1 << 16];
	int64_t set = 0;

	while ((uint64_t) set < most && fgets(line, sizeof(line), f))
	{
		char *at = line;
		char *end;
		uint64_t item;

		set++;
		for (item = strtoull(at, &end, 10); end != at; item = strtoull(at, &end, 10))
		{
			require(qset_builder_add(b, &set, &item, NULL, 1) == QB_OK, "out of memory");
			at = end;
		}
	}
}

static void
add_edges(FILE *f, qset_builder *b)
{
	long long from;
	long long to;

	while (fscanf(f, "%lld %lld", &from, &to) == 2)
	{
		int64_t set = from;
		uint64_t element = (uint64_t) to;

		require(qset_builder_add(b, &set, &element, NULL, 1) == QB_OK, "out of memory");
	}
}

static bool
read_file(qset_collection *c, const char *command, uint64_t sessions)
{
	FILE *f = popen(command, "r");
	qset_builder b;

	require(f != NULL, "could not run zcat");
	qset_builder_init(&b, false, &data_keys, &data_memory);
	if (sessions > 0)
		add_lines(f, &b, sessions);
	else
		add_edges(f, &b);
	pclose(f);
	require(qset_builder_finish(&b, c) == QB_OK, "out of memory");
	qset_builder_free(&b);
	return c->sets > 0;
}

bool
data_kosarak(qset_collection *c, uint64_t sessions)
{
	return read_file(c, "zcat " DATA "kosarak-36682-transactions.dat.gz 2>/dev/null", sessions);
}

bool
data_enron(qset_collection *c)
{
	return read_file(c, "zcat " DATA "email-enron-edges.tsv.gz 2>/dev/null", 0);
}
