/*
 * pairs_support.h
 *		What the tests of all pairs share: the pairs of a naive double loop, and
 *		those of the library by any method, table of loops and sharing of the rows.
 *
 * src/test/unit/pairs_support.h
 */
#ifndef QI_TEST_PAIRS_H
#define QI_TEST_PAIRS_H

#include "sets_support.h"

#define ROOM 20000

/* One way to run a request. */
typedef struct way
{
	const qi_kernels *kernels;
	int method;
	int variant;
	uint64_t shares;
	uint64_t room; /* pairs asked for at a time */
} way;

typedef struct answer
{
	qi_pair pair[ROOM];
	uint64_t count;
} answer;

/* ---- the naive answer ---- */

/* common / union >= j, as SQL would say it. */
static inline bool
naive_pass(const qi_filter *f, double j, uint32_t common, uint32_t either)
{
	return common >= f->min_count && (double) common / (either > 0 ? either : 1) >= j;
}

static inline uint32_t
naive_common(const qi_collection *a, uint64_t i, const qi_collection *b, uint64_t j)
{
	uint32_t common = 0;
	uint64_t x;
	uint64_t y;

	for (x = a->offset[i]; x < a->offset[i + 1]; x++)
		for (y = b->offset[j]; y < b->offset[j + 1]; y++)
			common += qi_element_compare(a, a->rank[x], b, b->rank[y]) == 0;
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

/* Of the pairs of one row, keep the best, each found by looking at all. */
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
		/* marked by its row's number plus a bit, as later ones still compare with it */
		if (better >= top)
			x->pair[i].a |= UINT32_C(1) << 31;
	}
	for (i = first; i < x->count; i++)
		if (x->pair[i].a >> 31 == 0)
			x->pair[kept++] = x->pair[i];
	x->count = kept;
}

static inline void
naive_pairs(const qi_request *r, double jaccard, answer *out)
{
	const qi_collection *a = r->rows;
	const qi_collection *b = r->columns ? r->columns : r->rows;
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
			uint32_t either = qi_set_size(a, i) + qi_set_size(b, j) - common;

			if ((!r->columns && i == j) || !naive_pass(&r->filter, jaccard, common, either) ||
				(common == 0 && !qi_filter_passes_nothing(&r->filter)))
				continue;
			REQUIRE(out->count < ROOM);
			out->pair[out->count++] = (qi_pair){ (uint32_t) i, (uint32_t) j, common, either };
		}
		if (r->filter.top > 0)
			naive_top(out, first, r->filter.top);
	}
}

/* ---- the answer of the library ---- */

/* Plan the request and fill its block, which the caller frees; NULL unless QS_OK. */
static inline qs_status
make_block(const qi_request *r, qi_plan *plan, uint64_t **block)
{
	qi_preparation p;
	qs_status status = qi_prepare(&p, r);

	*block = NULL;
	if (status == QS_OK)
	{
		*block = test_array(p.plan.bytes, 1);
		memset(*block, 0, p.plan.bytes);
		status = qi_fill(&p, *block);
	}
	*plan = p.plan;
	qi_prepared_free(&p);
	return status;
}

static inline void
run_share(const void *block, const way *w, uint64_t share, answer *out)
{
	qi_job job;
	uint64_t count;

	REQUIRE_OK(qi_job_open(&job, block, w->kernels, &test_heap, NULL));
	qi_job_share(&job, share, qi_job_rows(&job), w->shares);
	do
	{
		uint64_t room = ROOM - out->count < w->room ? ROOM - out->count : w->room;

		REQUIRE_OK(qi_job_next(&job, out->pair + out->count, room, &count));
		REQUIRE(count <= room);
		out->count += count;
	}
	while (count > 0);
	qi_job_close(&job);
}

static inline int
by_sets(const void *x, const void *y)
{
	const qi_pair *a = x;
	const qi_pair *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

/* Run all shares; pairs of one share come in order, those of several are sorted here. */
static inline void
run_pairs(const qi_request *request, const way *w, answer *out)
{
	qi_request r = *request;
	qi_plan plan;
	uint64_t *block;
	uint64_t share;

	r.method = w->method;
	r.variant = w->variant;
	REQUIRE_OK(make_block(&r, &plan, &block));
	REQUIRE(w->method == QI_AUTO || plan.method == w->method);
	if (w->method == QI_INDEX && !qi_filter_passes_nothing(&r.filter))
		REQUIRE(w->variant == QI_VARIANT_AUTO || plan.prefix == (w->variant == QI_VARIANT_ON));
	if (w->method == QI_BITMAP && w->variant != QI_VARIANT_AUTO)
		REQUIRE(plan.resident == (w->variant == QI_VARIANT_ON));
	out->count = 0;
	for (share = 0; share < w->shares; share++)
	{
		uint64_t first = out->count;
		uint64_t i;

		run_share(block, w, share, out);
		for (i = first + 1; i < out->count; i++)
			REQUIRE(by_sets(&out->pair[i - 1], &out->pair[i]) < 0);
	}
	qsort(out->pair, out->count, sizeof(qi_pair), by_sets);
	free(block);
}

static inline void
require_same_pairs(const answer *x, const answer *y)
{
	uint64_t i;

	REQUIRE(x->count == y->count);
	for (i = 0; i < x->count; i++)
		REQUIRE(memcmp(&x->pair[i], &y->pair[i], sizeof(qi_pair)) == 0);
}

static inline void
name_case(uint64_t seed)
{
	memset(test_where, ' ', 40);
	test_where[snprintf(test_where, 40, "seed %d", (int) seed)] = ' ';
}

/* More sets than 2-byte numbers have, and sets larger than 2-byte counters count to. */
static inline void
large_collection(uint64_t sets, uint64_t large, qi_collection *c)
{
	qi_builder b;
	uint64_t i;
	uint64_t e;

	test_builder(&b, false);
	for (i = 0; i < sets; i++)
	{
		int64_t id[3] = { (int64_t) i, (int64_t) i, (int64_t) i };
		uint64_t low[3] = { i / 3, 1000000 + i % 7, 2000000 + i };

		REQUIRE_OK(qi_builder_add(&b, id, low, NULL, 3));
	}
	for (i = 0; i < 4 && large > 0; i++)
		for (e = 0; e < large; e++)
			test_add(&b, (int64_t) (sets + i), e * (i == 3 ? 2 : 1));
	REQUIRE_OK(qi_builder_finish(&b, c));
	qi_builder_free(&b);
}

#endif
