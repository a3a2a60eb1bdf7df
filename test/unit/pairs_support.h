/*
 * pairs_support.h
 *		Expected and actual pairs of sets, for the tests of all pairs.
 *
 * A naive double loop finds the expected pairs.  The library finds pairs with any method,
 * any table of inner loops and any number of shards.
 *
 * test/unit/pairs_support.h
 */
#ifndef QSET_TEST_PAIRS_H
#define QSET_TEST_PAIRS_H

#include "sets_support.h"

#define ROOM 20000

/* Settings of one run of a request. */
typedef struct way
{
	const qset_kernels *kernels;
	int method;
	int variant;
	uint64_t shards;
	uint64_t room; /* largest number of pairs per call of qset_job_next() */
} way;

typedef struct answer
{
	qset_pair pair[ROOM];
	uint64_t count;
} answer;

/* ---- the naive answer ---- */

/* True if common >= min_count and common / union >= j, computed as SQL computes it. */
static inline bool
naive_pass(const qset_filter *f, double j, uint32_t common, uint32_t either)
{
	return common >= f->min_count && (double) common / (either > 0 ? either : 1) >= j;
}

static inline uint32_t
naive_common(const qset_collection *a, uint64_t i, const qset_collection *b, uint64_t j)
{
	uint32_t common = 0;
	uint64_t x;
	uint64_t y;

	for (x = a->offset[i]; x < a->offset[i + 1]; x++)
		for (y = b->offset[j]; y < b->offset[j + 1]; y++)
			common += qset_element_compare(a, a->rank[x], b, b->rank[y]) == 0;
	return common;
}

static inline bool
in_answer(const answer *x, uint32_t a, uint32_t b)
{
	uint64_t i;

	for (i = 0; i < x->count; i++)
		if (x->pair[i].a == a && x->pair[i].b == b)
			return true;
	return false;
}

/* Keep the best pairs of one row.  Each pair is compared with all pairs of the row. */
static inline void
naive_top(answer *x, uint64_t first, uint64_t top)
{
	uint64_t i;
	uint64_t j;
	uint64_t kept = first;

	for (i = first; i < x->count; i++)
	{
		uint64_t better = 0;
		double mine = (double) x->pair[i].common / (x->pair[i].either ? x->pair[i].either : 1);

		for (j = first; j < x->count; j++)
		{
			double other = (double) x->pair[j].common / (x->pair[j].either ? x->pair[j].either : 1);

			better += other > mine || (other == mine && x->pair[j].b < x->pair[i].b);
		}
		/* only mark the pair, because later pairs are compared with this pair, too */
		if (better >= top)
			x->pair[i].a |= UINT32_C(1) << 31;
	}
	for (i = first; i < x->count; i++)
		if (x->pair[i].a >> 31 == 0)
			x->pair[kept++] = x->pair[i];
	x->count = kept;
}

static inline void
naive_pairs(const qset_request *r, double jaccard, answer *out)
{
	const qset_collection *a = r->rows;
	const qset_collection *b = r->columns ? r->columns : r->rows;
	bool directed = r->columns || r->directed || r->filter.top > 0;
	uint64_t i;
	uint64_t j;

	out->count = 0;
	for (i = 0; i < a->sets; i++)
	{
		uint64_t first = out->count;

		for (j = directed ? 0 : i + 1; j < b->sets; j++)
		{
			uint32_t common = naive_common(a, i, b, j);
			uint32_t either = qset_set_size(a, i) + qset_set_size(b, j) - common;

			if ((!r->columns && i == j) || !naive_pass(&r->filter, jaccard, common, either) ||
				(common == 0 && !qset_filter_passes_nothing(&r->filter)))
				continue;
			REQUIRE(out->count < ROOM);
			out->pair[out->count++] = (qset_pair){ (uint32_t) i, (uint32_t) j, common, either };
		}
		if (r->filter.top > 0)
			naive_top(out, first, r->filter.top);
	}
}

/* ---- the answer of the library ---- */

/*
 * Plan the request and fill its block.  The caller frees *block, which may be NULL after an
 * error.
 */
static inline qb_status
make_block(const qset_request *r, qset_plan *plan, uint64_t **block)
{
	qset_preparation p;
	qb_status status = qset_prepare(&p, r);

	*block = NULL;
	if (status == QB_OK)
	{
		*block = test_array(p.plan.bytes, 1);
		memset(*block, 0, p.plan.bytes);
		status = qset_fill(&p, *block);
	}
	*plan = p.plan;
	qset_prepared_free(&p);
	return status;
}

static inline void
run_shard(const void *block, const way *w, uint64_t shard, answer *out)
{
	qset_job job;
	uint64_t count;

	REQUIRE_OK(qset_job_open(&job, block, w->kernels, &test_heap, NULL));
	qset_job_shard(&job, shard, qset_job_rows(&job), w->shards);
	do
	{
		uint64_t room = ROOM - out->count < w->room ? ROOM - out->count : w->room;

		REQUIRE_OK(qset_job_next(&job, out->pair + out->count, room, &count));
		REQUIRE(count <= room);
		out->count += count;
	}
	while (count > 0);
	qset_job_close(&job);
}

static inline int
by_sets(const void *x, const void *y)
{
	const qset_pair *a = x;
	const qset_pair *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

/* Run all shards, check the order of pairs within each shard, and sort the pairs of all shards. */
static inline void
run_pairs(const qset_request *request, const way *w, answer *out)
{
	qset_request r = *request;
	qset_plan plan;
	uint64_t *block;
	uint64_t shard;

	r.method = w->method;
	r.variant = w->variant;
	REQUIRE_OK(make_block(&r, &plan, &block));
	REQUIRE(w->method == QSET_AUTO || plan.method == w->method);
	if (w->method == QSET_INDEX && !qset_filter_passes_nothing(&r.filter))
		REQUIRE(w->variant == QSET_VARIANT_AUTO || plan.prefix == (w->variant == QSET_VARIANT_ON));
	if (w->method == QSET_BITMAP && w->variant != QSET_VARIANT_AUTO)
		REQUIRE(plan.resident == (w->variant == QSET_VARIANT_ON));
	out->count = 0;
	for (shard = 0; shard < w->shards; shard++)
	{
		uint64_t first = out->count;
		uint64_t i;

		run_shard(block, w, shard, out);
		for (i = first + 1; i < out->count; i++)
			REQUIRE(by_sets(&out->pair[i - 1], &out->pair[i]) < 0);
	}
	qsort(out->pair, out->count, sizeof(qset_pair), by_sets);
	free(block);
}

static inline void
require_same_pairs(const answer *x, const answer *y)
{
	uint64_t i;

	REQUIRE(x->count == y->count);
	for (i = 0; i < x->count; i++)
		REQUIRE(memcmp(&x->pair[i], &y->pair[i], sizeof(qset_pair)) == 0);
}

static inline void
name_case(uint64_t seed)
{
	memset(test_where, ' ', 40);
	test_where[snprintf(test_where, 40, "seed %d", (int) seed)] = ' ';
}

/*
 * Make a collection of "sets" sets of three elements.  If large > 0, add four sets of "large"
 * elements.
 */
static inline void
large_collection(uint64_t sets, uint64_t large, qset_collection *c)
{
	qset_builder b;
	uint64_t i;
	uint64_t e;

	test_builder(&b, false);
	for (i = 0; i < sets; i++)
	{
		int64_t id[3] = { (int64_t) i, (int64_t) i, (int64_t) i };
		uint64_t low[3] = { i / 3, 1000000 + i % 7, 2000000 + i };

		REQUIRE_OK(qset_builder_add(&b, id, low, NULL, 3));
	}
	for (i = 0; i < 4 && large > 0; i++)
		for (e = 0; e < large; e++)
			test_add(&b, (int64_t) (sets + i), e * (i == 3 ? 2 : 1));
	REQUIRE_OK(qset_builder_finish(&b, c));
	qset_builder_free(&b);
}

#endif
