/*
 * theory.c
 *		Computes the expected error of each structure, from formulas and by simulation.
 *
 * bench/theory.c
 */
#include <math.h>

#include "sketch/params.h"
#include "theory.h"

#define COUNTS     128   /* Poisson counts from COUNTS on are neglected */
#define NEGLIGIBLE 1e-13 /* smaller chances are neglected */

/* ---- Poisson and binomial numbers ---- */

static double
choose(uint32_t n, uint32_t k)
{
	double ways = 1;
	uint32_t i;

	if (k > n)
		return 0;
	for (i = 0; i < k; i++)
		ways = ways * (n - i) / (i + 1);
	return ways;
}

/* Set chance[k] to the chance of k events.  Returns the number of k that are not negligible. */
static uint32_t
poisson(double mean, double chance[COUNTS])
{
	uint32_t used = 1;
	uint32_t k;

	chance[0] = exp(-mean);
	for (k = 1; k < COUNTS; k++)
	{
		chance[k] = chance[k - 1] * mean / k;
		if (k < mean || chance[k] > NEGLIGIBLE)
			used = k + 1;
	}
	return used;
}

/* Set tail[v] to the chance of at least v events. */
static void
poisson_tails(double mean, double tail[COUNTS])
{
	double chance[COUNTS];
	double rest = 0;
	uint32_t v;

	poisson(mean, chance);
	for (v = COUNTS; v-- > 0;)
		tail[v] = rest += chance[v];
}

double
theory_thread(uint32_t depth, double load)
{
	double tail[COUNTS];
	double sum = 0;
	uint32_t v;

	poisson_tails(load, tail);
	for (v = 1; v < COUNTS; v++)
		sum += pow(tail[v], depth);
	return sum;
}

/* ---- buckets, depth 3 ---- */

/*
 * Mean numbers of other keys that share all three counters, exactly two given counters, or exactly
 * one given counter with a key.
 */
typedef struct meetings
{
	double all;
	double two;
	double one;
} meetings;

static meetings
plain_meetings(uint32_t m, double keys)
{
	double ways = choose(m, 3);

	return (meetings){ .all = keys / ways,
					   .two = keys * (m - 3) / ways,
					   .one = keys * choose(m - 3, 2) / ways };
}

/*
 * Return the meetings if each counter consists of z cells, and keys share cells instead of
 * counters.
 */
static meetings
cell_meetings(meetings k, double z)
{
	double miss = 1 - 1 / z;

	return (meetings){ .all = k.all / (z * z * z),
					   .two = (k.two + k.all * miss) / (z * z),
					   .one = (k.one + 2 * k.two * miss + k.all * miss * miss) / z };
}

/*
 * Return the sum over v of the chance that all three counters reach v.  Counter i reaches v with
 * chance reach[v][shared_i], where shared_i is the number of keys that share counter i and at least
 * one more counter.
 */
static double
sum_of_minimum(meetings k, double reach[][COUNTS], uint32_t values)
{
	double all[COUNTS], two[COUNTS];
	uint32_t alls = poisson(k.all, all);
	uint32_t twos = poisson(k.two, two);
	double sum = 0;
	uint32_t a, b, c, s, v;

	for (s = 0; s < alls; s++)
		for (a = 0; a < twos; a++)
			for (b = 0; b < twos; b++)
				for (c = 0; c < twos; c++)
				{
					double chance = all[s] * two[a] * two[b] * two[c];

					if (chance < NEGLIGIBLE || s + a + b >= COUNTS)
						continue;
					for (v = 1; v < values; v++)
						sum += chance * reach[v][s + a + b] * reach[v][s + a + c] *
							   reach[v][s + b + c];
				}
	return sum;
}

static double
error_of_plain(meetings k)
{
	double reach[COUNTS][COUNTS];
	double tail[COUNTS];
	uint32_t v, shared;

	poisson_tails(k.one, tail);
	for (v = 0; v < COUNTS; v++)
		for (shared = 0; shared < COUNTS; shared++)
			reach[v][shared] = shared >= v ? 1 : tail[v - shared];
	return sum_of_minimum(k, reach, COUNTS);
}

/*
 * Set fits[k] to the chance that, of k keys spread over z cells, at most "first" are in the first
 * cell and at most "rest" in each other cell.  The cells are added one by one, each with i of the
 * remaining keys.
 */
static void
spread(uint32_t z, uint32_t first, uint32_t rest, double fits[COUNTS])
{
	uint32_t cells, k, i;

	for (k = 0; k < COUNTS; k++)
		fits[k] = k <= rest;
	for (cells = 2; cells <= z; cells++)
	{
		uint32_t most = cells < z ? rest : first;
		double next[COUNTS];

		for (k = 0; k < COUNTS; k++)
		{
			double chance = pow(1 - 1.0 / cells, k); /* chance of i = 0 */

			next[k] = 0;
			for (i = 0; i <= k && i <= most; i++)
			{
				next[k] += chance * fits[k - i];
				chance *= (double) (k - i) / ((i + 1.0) * (cells - 1));
			}
		}
		memcpy(fits, next, sizeof(next));
	}
}

/*
 * Return the error of slim counters.  A counter's value is the maximum of its cells.  The key's own
 * cell also counts the key.
 */
static double
error_of_slim(meetings k, uint32_t z)
{
	static double reach[COUNTS][COUNTS];
	double one[COUNTS];
	uint32_t ones = poisson(k.one, one);
	uint32_t v, shared, c;

	for (v = 1; v < COUNTS; v++)
	{
		double fits[COUNTS];

		spread(z, v - 1, v, fits);
		for (shared = 0; shared < COUNTS; shared++)
		{
			reach[v][shared] = 0;
			for (c = 0; c < ones; c++)
				reach[v][shared] += one[c] * (shared + c < COUNTS ? 1 - fits[shared + c] : 1);
		}
	}
	return sum_of_minimum(k, reach, COUNTS);
}

double
theory_bucket(uint32_t m, double keys)
{
	return error_of_plain(plain_meetings(m, keys));
}

double
theory_bucket_keys(int structure, uint32_t depth, double load)
{
	double counters = qs_bucket_width(structure);

	if (structure == QS_MULTILEVEL)
		counters = 8; /* memory of eight 4-byte counters */
	return load * counters / depth;
}

double
theory_error(int structure, uint32_t z, bool fat, double load)
{
	meetings k;

	if (structure == QS_THREAD)
		return theory_thread(THEORY_DEPTH, load);
	k = plain_meetings(qs_bucket_width(structure),
					   theory_bucket_keys(structure, THEORY_DEPTH, load));
	if (structure != QS_SF)
		return error_of_plain(k);
	return fat ? error_of_plain(cell_meetings(k, z)) : error_of_slim(k, z);
}

/* ---- memory ---- */

/* Each of the m / counters transactions is needed if it has at least one of the key's counters. */
double
theory_transactions(uint32_t m, uint32_t depth, uint32_t counters)
{
	if (counters >= m)
		return 1;
	return (double) m / counters * (1 - choose(m - counters, depth) / choose(m, depth));
}

/* ---- simulation ---- */

static uint64_t
draw(uint64_t *state)
{
	return qb_mix64(*state += QB_ROW_STEP);
}

static double
draw_unit(uint64_t *state)
{
	return (double) (draw(state) >> 11) * 0x1p-53;
}

static uint32_t
draw_poisson(uint64_t *state, double limit)
{
	double product = draw_unit(state);
	uint32_t k = 0;

	for (; product > limit; k++)
		product *= draw_unit(state);
	return k;
}

/* The masks of one table, or all possible masks. */
typedef struct mask_source
{
	uint32_t m, depth, masks;
	bool turned;
	uint64_t table; /* seed of the table */
} mask_source;

static uint32_t
draw_mask(const mask_source *from, uint64_t *state)
{
	uint64_t r = draw(state);
	uint32_t mask;

	if (from->masks == 0)
		return qs_mask(r, from->m, from->depth, 0);
	mask = qs_mask(from->table, from->m, from->depth, (uint32_t) r % from->masks);
	return from->turned ? qs_mask_rotation(mask, from->m, r >> 16) : mask;
}

/* Return how much a key is overestimated in a bucket with "others" other keys. */
static uint32_t
simulate_bucket(const mask_source *from, uint64_t *state, uint32_t others)
{
	uint32_t counter[QS_MASK_BITS_MAX] = { 0 };
	uint32_t least = UINT32_MAX;
	uint32_t mask;

	while (others-- > 0)
		for (mask = draw_mask(from, state); mask != 0; mask &= mask - 1)
			counter[__builtin_ctz(mask)]++;
	for (mask = draw_mask(from, state); mask != 0; mask &= mask - 1)
		if (counter[__builtin_ctz(mask)] < least)
			least = counter[__builtin_ctz(mask)];
	return least;
}

double
theory_simulate(uint32_t m, uint32_t depth, double keys, uint32_t masks, bool turned,
				uint64_t buckets)
{
	mask_source from = { .m = m, .depth = depth, .masks = masks, .turned = turned };
	uint64_t state = m * 1000 + depth;
	double limit = exp(-keys);
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < buckets; i++)
	{
		if (i % 10000 == 0)
			from.table = draw(&state);
		sum += simulate_bucket(&from, &state, draw_poisson(&state, limit));
	}
	return (double) sum / (double) buckets;
}
