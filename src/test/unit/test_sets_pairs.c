/*
 * test_sets_pairs.c
 *		All pairs: every method with every table of loops and any sharing of the
 *		rows gives the pairs of a naive double loop.
 *
 * src/test/unit/test_sets_pairs.c
 */
#include "sets_support.h"

#define SEEDS 2500
#define ROOM  20000

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

static answer wanted;
static answer got;

/* ---- the naive answer ---- */

/* common / union >= j, as SQL would say it. */
static bool
naive_pass(const qi_filter *f, double j, uint32_t common, uint32_t either)
{
	return common >= f->min_count && (double) common / (either > 0 ? either : 1) >= j;
}

static uint32_t
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

static bool
in_answer(const answer *x, uint32_t a, uint32_t b)
{
	uint64_t i;

	for (i = 0; i < x->count; i++)
		if (x->pair[i].a == a && x->pair[i].b == b)
			return true;
	return false;
}

/* Of the pairs of one row, keep the best, each found by looking at all. */
static void
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

static void
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

static void
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

static int
by_sets(const void *x, const void *y)
{
	const qi_pair *a = x;
	const qi_pair *b = y;

	if (a->a != b->a)
		return a->a < b->a ? -1 : 1;
	return (a->b > b->b) - (a->b < b->b);
}

/* Run all shares; pairs of one share come in order, those of several are sorted here. */
static void
run(const qi_request *request, const way *w, answer *out)
{
	qi_request r = *request;
	qi_preparation p;
	uint64_t *block;
	uint64_t share;

	r.method = w->method;
	r.variant = w->variant;
	REQUIRE_OK(qi_prepare(&p, &r));
	block = test_array(p.plan.bytes, 1);
	memset(block, 0, p.plan.bytes);
	REQUIRE_OK(qi_fill(&p, block));
	REQUIRE(w->method == QI_AUTO || p.plan.method == w->method);
	if (w->method == QI_INDEX && !qi_filter_passes_nothing(&r.filter))
		REQUIRE(w->variant == QI_VARIANT_AUTO || p.plan.prefix == (w->variant == QI_VARIANT_ON));
	if (w->method == QI_BITMAP && w->variant != QI_VARIANT_AUTO)
		REQUIRE(p.plan.resident == (w->variant == QI_VARIANT_ON));
	qi_prepared_free(&p);
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

static void
require_same(const answer *x, const answer *y)
{
	uint64_t i;

	REQUIRE(x->count == y->count);
	for (i = 0; i < x->count; i++)
		REQUIRE(memcmp(&x->pair[i], &y->pair[i], sizeof(qi_pair)) == 0);
}

/* Every method in both variants, and auto, on one table of loops and one sharing. */
static void
try_methods(const qi_request *r, const qi_kernels *k, uint64_t shares, uint64_t room)
{
	int method;
	int variant;

	for (method = QI_AUTO; method < QI_METHODS; method++)
		for (variant = QI_VARIANT_AUTO; variant <= QI_VARIANT_ON; variant++)
		{
			way w = { k, method, variant, shares, room };

			if (variant != QI_VARIANT_AUTO && method != QI_INDEX && method != QI_BITMAP)
				continue;
			snprintf(test_where + 40, sizeof(test_where) - 40, "%s %s %d, %d shares", k->name,
					 qi_method_name(method), variant, (int) shares);
			test_where[39] = ' ';
			run(r, &w, &got);
			require_same(&got, &wanted);
		}
}

/* Thresholds that make boundaries: fractions that small sets can reach exactly. */
static double
pick_jaccard(test_rng *rng)
{
	double whole = (double) (1 + test_below(rng, 9));

	switch (test_below(rng, 5))
	{
		case 0:
			return (double) test_below(rng, (uint64_t) whole + 1) / whole;
		case 1:
			return (double) test_below(rng, 21) / 20;
		case 2:
			return (double) (test_random(rng) >> 11) * 0x1p-53;
		default:
			return 0;
	}
}

static void
pick_filter(test_rng *rng, qi_filter *f, double *jaccard)
{
	*jaccard = pick_jaccard(rng);
	REQUIRE_OK(qi_filter_init(f, (int64_t) (test_below(rng, 3) ? test_below(rng, 6) : 1), *jaccard,
							  test_below(rng, 4) ? 0 : 1 + test_below(rng, 5)));
}

static void
name_case(uint64_t seed)
{
	memset(test_where, ' ', 40);
	test_where[snprintf(test_where, 40, "seed %d", (int) seed)] = ' ';
}

/* One table of loops and one sharing by turns for each seed; the next tests vary both. */
static void
within_a_collection(void **state)
{
	const qi_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		test_rng rng = test_seeded(seed + 1000);
		qi_collection c;
		qi_request r = { .rows = &c, .memory = &test_heap };
		double jaccard;

		name_case(seed);
		test_collection(&c, seed, seed % 2);
		pick_filter(&rng, &r.filter, &jaccard);
		r.directed = test_below(&rng, 4) == 0;
		naive_pairs(&r, jaccard, &wanted);
		try_methods(&r, table[seed % tables], 1 + test_below(&rng, 5), 1 + test_below(&rng, 50));
		qi_collection_free(&c);
	}
	test_no_leak();
}

static void
between_collections(void **state)
{
	const qi_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < SEEDS; seed++)
	{
		test_rng rng = test_seeded(seed + 2000);
		qi_collection a;
		qi_collection b;
		qi_request r = { .rows = &a, .columns = &b, .memory = &test_heap };
		double jaccard;

		name_case(seed);
		test_collection(&a, seed, seed % 2);
		test_collection(&b, test_below(&rng, 3) ? seed : seed * 2, seed % 2);
		pick_filter(&rng, &r.filter, &jaccard);
		naive_pairs(&r, jaccard, &wanted);
		try_methods(&r, table[seed % tables], 1 + test_below(&rng, 5), 1 + test_below(&rng, 50));
		qi_collection_free(&a);
		qi_collection_free(&b);
	}
	test_no_leak();
}

static void
tables_and_shares(void **state)
{
	const qi_kernels *table[3];
	size_t tables = test_tables(table);
	uint64_t seed;
	uint64_t shares;
	size_t t;

	(void) state;
	for (seed = 0; seed < 40; seed++)
	{
		test_rng rng = test_seeded(seed + 3000);
		qi_collection c;
		qi_request r = { .rows = &c, .memory = &test_heap };
		double jaccard;

		name_case(seed);
		test_collection(&c, seed, false);
		pick_filter(&rng, &r.filter, &jaccard);
		naive_pairs(&r, jaccard, &wanted);
		for (t = 0; t < tables; t++)
			for (shares = 1; shares <= 7; shares += 2)
				try_methods(&r, table[t], shares, 1000);
		qi_collection_free(&c);
	}
}

/* Empty sets, which only a collection made by hand has. */
static void
empty_sets(void **state)
{
	int64_t id[] = { -5, 0, 3, 9, 10 };
	uint64_t offset[] = { 0, 0, 2, 2, 5, 6 };
	uint32_t rank[] = { 0, 2, 0, 1, 2, 1 };
	uint64_t low[] = { 7, 8, 9 };
	qi_collection c = { .family = 1, .sets = 5, .elements = 6, .universe = 3 };
	const qi_kernels *table[3];
	size_t tables = test_tables(table);
	const double jaccard[] = { 0, 1.0 / 3, 0.5, 2.0 / 3, 1 };
	int64_t least;
	size_t j;
	size_t t;

	(void) state;
	c.id = id;
	c.offset = offset;
	c.rank = rank;
	c.low = low;
	for (least = 0; least < 4; least++)
		for (j = 0; j < ALL_OF(jaccard); j++)
			for (t = 0; t < tables; t++)
			{
				qi_request r = { .rows = &c, .memory = &test_heap };

				name_case((uint64_t) least * 10 + j);
				REQUIRE_OK(qi_filter_init(&r.filter, least, jaccard[j], 0));
				naive_pairs(&r, jaccard[j], &wanted);
				REQUIRE(least > 0 || j > 0 || wanted.count == 10);
				try_methods(&r, table[t], 1 + t, 3);
				r.columns = &c;
				naive_pairs(&r, jaccard[j], &wanted);
				try_methods(&r, table[t], 1 + t, 3);
			}
}

/* More sets than 2-byte numbers have, and sets larger than 2-byte counters count to. */
static void
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

static void
wide_lists_and_counters(void **state)
{
	const qi_kernels *table[3];
	size_t tables = test_tables(table);
	qi_collection c;
	size_t t;
	int method;
	int variant;

	(void) state;
	large_collection(66000, 66000, &c);
	for (t = 0; t < tables; t++)
		for (method = QI_INDEX; method <= QI_HYBRID; method++)
			for (variant = QI_VARIANT_OFF; variant <= QI_VARIANT_ON; variant++)
			{
				way w = { table[t], method, variant, 1, ROOM };
				qi_request r = { .rows = &c, .memory = &test_heap };

				/* the four large ones, one of which has half of the others' elements */
				REQUIRE_OK(qi_filter_init(&r.filter, 33000, 0, 0));
				run(&r, &w, &got);
				REQUIRE(got.count == 6);
				REQUIRE(got.pair[0].a == 66000 && got.pair[0].common == 66000);
				REQUIRE(got.pair[5].b == 66003 && got.pair[5].common == 33000);
				REQUIRE(got.pair[5].either == 99000);
				/* of the small ones no two share more than one element; once is enough */
				if (t == 0 || method == QI_HYBRID)
					continue;
				REQUIRE_OK(qi_filter_init(&r.filter, 2, 0, 0));
				run(&r, &w, &got);
				REQUIRE(got.count == 6);
			}
	qi_collection_free(&c);
	test_no_leak();
}

/* "top" of pairs within one collection: the union of what both sides want. */
static void
top_is_the_union(void **state)
{
	static qi_pair scratch[ROOM];
	static answer directed;
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 300; seed++)
	{
		qi_collection c;
		qi_request r = { .rows = &c, .memory = &test_heap };
		way w = { qi_kernels_now(), QI_AUTO, QI_VARIANT_AUTO, 1 + seed % 3, ROOM };
		uint64_t i;

		name_case(seed);
		test_collection(&c, seed, false);
		REQUIRE_OK(qi_filter_init(&r.filter, 1, 0, 1 + seed % 4));
		naive_pairs(&r, 0, &directed);
		run(&r, &w, &got);
		got.count = qi_finish_top(got.pair, got.count, scratch);
		for (i = 0; i < got.count; i++)
		{
			const qi_pair *p = &got.pair[i];

			REQUIRE(p->a < p->b && (i == 0 || by_sets(p - 1, p) < 0));
			REQUIRE(in_answer(&directed, p->a, p->b) || in_answer(&directed, p->b, p->a));
		}
		for (i = 0; i < directed.count; i++)
		{
			const qi_pair *p = &directed.pair[i];

			REQUIRE(in_answer(&got, p->a < p->b ? p->a : p->b, p->a < p->b ? p->b : p->a));
		}
		qi_collection_free(&c);
	}
}

/* One set against all others: one row of a directed job. */
static void
one_against_all(void **state)
{
	uint64_t seed;

	(void) state;
	for (seed = 0; seed < 300; seed++)
	{
		qi_collection c;
		qi_request r = { .rows = &c, .memory = &test_heap, .directed = true, .rows_wanted = 1 };
		qi_preparation p;
		uint64_t *block;
		uint64_t set;
		qi_job job;

		test_collection(&c, seed, false);
		REQUIRE_OK(qi_filter_init(&r.filter, 1 + (int64_t) (seed % 3), 0, 0));
		naive_pairs(&r, 0, &wanted);
		REQUIRE_OK(qi_prepare(&p, &r));
		block = test_array(p.plan.bytes, 1);
		memset(block, 0, p.plan.bytes);
		REQUIRE_OK(qi_fill(&p, block));
		qi_prepared_free(&p);
		REQUIRE_OK(qi_job_open(&job, block, qi_kernels_now(), &test_heap, NULL));
		got.count = 0;
		for (set = 0; set < c.sets; set++)
		{
			int64_t row = qi_job_row_of(&job, (uint32_t) set);
			uint64_t count;

			if (row < 0)
				continue;
			qi_job_share(&job, (uint64_t) row, (uint64_t) row + 1, 1);
			REQUIRE_OK(qi_job_next(&job, got.pair + got.count, ROOM - got.count, &count));
			got.count += count;
		}
		REQUIRE(qi_job_row_of(&job, (uint32_t) c.sets) < 0);
		require_same(&got, &wanted);
		qi_job_close(&job);
		free(block);
		qi_collection_free(&c);
	}
	test_no_leak();
}

/* ---- filters ---- */

static void
fractions(void **state)
{
	static const struct
	{
		double jaccard;
		uint64_t numerator, denominator;
	} known[] = {
		{ 0, 0, 1 },
		{ 1, 1, 1 },
		{ 0.5, 1, 2 },
		{ 0.8, 4, 5 },
		{ 1.0 / 3, 1, 3 },
		{ 0.1, 1, 10 },
		{ 0.95, 19, 20 },
		{ 2.0 / 3, 2, 3 },
		{ 0.333333, 333333, 1000000 },
		{ 0.125, 1, 8 },
		{ 0x1p-33, 1, UINT64_C(1) << 33 },
		{ 0x1p-1074, 1, UINT64_C(1) << 33 },
	};
	test_rng rng = test_seeded(11);
	qi_filter f;
	size_t i;

	(void) state;
	for (i = 0; i < ALL_OF(known); i++)
	{
		WHERE("case %d", (int) i);
		REQUIRE_OK(qi_filter_init(&f, 1, known[i].jaccard, 0));
		REQUIRE(f.numerator == known[i].numerator && f.denominator == known[i].denominator);
	}
	for (i = 0; i < 100000; i++)
	{
		double j = (double) (test_random(&rng) >> 11) * 0x1p-53;

		j = j / (double) (UINT64_C(1) << test_below(&rng, 30));
		if (j < 0x1p-33)
			continue;
		REQUIRE_OK(qi_filter_init(&f, 1, j, 0));
		REQUIRE((double) f.numerator / (double) f.denominator == j);
	}
	REQUIRE_STATUS(qi_filter_init(&f, -1, 0, 0), QS_BAD_FILTER);
	REQUIRE_STATUS(qi_filter_init(&f, 0, -0.1, 0), QS_BAD_FILTER);
	REQUIRE_STATUS(qi_filter_init(&f, 0, 1.0001, 0), QS_BAD_FILTER);
	REQUIRE_STATUS(qi_filter_init(&f, 0, strtod("nan", NULL), 0), QS_BAD_FILTER);
}

/* The same answers as the quotient in double precision, at and beside every boundary. */
static void
boundaries_are_exact(void **state)
{
	uint64_t either;
	uint64_t common;

	(void) state;
	for (either = 1; either < 60; either++)
		for (common = 0; common <= either; common++)
		{
			uint64_t c;
			uint64_t e;
			double j = (double) common / (double) either;
			qi_filter f;
			uint64_t least;
			uint64_t most;

			REQUIRE_OK(qi_filter_init(&f, 0, j, 0));
			for (e = 1; e < 60; e++)
				for (c = 0; c <= e; c++)
					REQUIRE(qi_filter_pass(&f, c, e) == (c * either >= common * e));
			/* what can pass with a set of this size is within the bounds */
			for (e = 1; e < 60; e++)
			{
				qi_filter_sizes(&f, either, &least, &most);
				c = e < either ? e : either;
				if (qi_filter_pass(&f, c, e + either - c))
					REQUIRE(e >= least && e <= most && c >= qi_filter_least(&f, e));
			}
		}
}

/* ---- what can go wrong ---- */

static bool
stop_at(void *context)
{
	int *left = context;

	return (*left)-- <= 0;
}

/* Every question may be the one that is answered with "stop". */
static void
stops_when_told(void **state)
{
	qi_collection c;
	int asked = 0;
	int method;

	(void) state;
	large_collection(30000, 20000, &c);
	for (method = QI_INDEX; method <= QI_HYBRID; method++)
	{
		qs_status status = QS_CANCELLED;
		int patience;

		for (patience = 0; status == QS_CANCELLED; patience++)
		{
			int left = patience;
			qi_interrupt interrupt = { stop_at, &left };
			qi_request r = { .rows = &c, .memory = &test_heap, .interrupt = &interrupt };
			qi_preparation p;
			uint64_t *block = NULL;
			uint64_t count = 0;
			qi_job job;

			r.method = method;
			REQUIRE_OK(qi_filter_init(&r.filter, 3, 0, 0));
			status = qi_prepare(&p, &r);
			if (status == QS_OK)
			{
				block = test_array(p.plan.bytes, 1);
				memset(block, 0, p.plan.bytes);
				status = qi_fill(&p, block);
			}
			qi_prepared_free(&p);
			if (status == QS_OK)
			{
				REQUIRE_OK(qi_job_open(&job, block, qi_kernels_now(), &test_heap, &interrupt));
				qi_job_share(&job, 0, qi_job_rows(&job), 1);
				do
					status = qi_job_next(&job, got.pair, ROOM, &count);
				while (status == QS_OK && count > 0);
				qi_job_close(&job);
			}
			free(block);
			REQUIRE(status == QS_OK || status == QS_CANCELLED);
			asked = patience;
		}
		REQUIRE(status == QS_OK && asked > 3);
	}
	qi_collection_free(&c);
	test_no_leak();
}

static void
limits_and_mismatches(void **state)
{
	qi_collection c;
	qi_collection other;
	qi_request r = { .rows = &c, .memory = &test_heap };
	qi_preparation p;

	(void) state;
	large_collection(3000, 0, &c);
	REQUIRE_OK(qi_filter_init(&r.filter, 1, 0, 0));
	r.memory_limit = 1000;
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_NO_ROOM);
	qi_prepared_free(&p);
	r.method = QI_HYBRID;
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_NO_ROOM);
	qi_prepared_free(&p);
	r.memory_limit = 10000000;
	REQUIRE_OK(qi_prepare(&p, &r));
	REQUIRE(p.plan.bytes <= r.memory_limit);
	qi_prepared_free(&p);
	r.method = QI_METHODS;
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_BAD_METHOD);
	qi_prepared_free(&p);
	r.method = QI_AUTO;
	test_collection(&other, 3, true);
	r.columns = &other;
	REQUIRE(other.sets > 0);
	REQUIRE_STATUS(qi_prepare(&p, &r), QS_MISMATCH);
	qi_prepared_free(&p);
	qi_collection_free(&other);
	qi_collection_free(&c);
	test_no_leak();
}

static qs_status
whole_run(const qi_request *r)
{
	qi_preparation p;
	uint64_t *block = NULL;
	uint64_t count;
	qi_job job;
	qs_status status = qi_prepare(&p, r);

	if (status == QS_OK)
	{
		block = test_array(p.plan.bytes, 1);
		memset(block, 0, p.plan.bytes);
		status = qi_fill(&p, block);
	}
	qi_prepared_free(&p);
	if (status == QS_OK)
	{
		status = qi_job_open(&job, block, qi_kernels_now(), &test_heap, NULL);
		qi_job_share(&job, 0, qi_job_rows(&job), 1);
		if (status == QS_OK)
			status = qi_job_next(&job, got.pair, ROOM, &count);
		qi_job_close(&job);
	}
	free(block);
	return status;
}

static void
no_memory(void **state)
{
	qi_collection a;
	qi_collection b;
	int method;
	int two;

	(void) state;
	test_collection(&a, 12, false);
	test_collection(&b, 14, false);
	for (method = QI_AUTO; method < QI_METHODS; method++)
		for (two = 0; two < 2; two++)
		{
			qi_request r = { .rows = &a, .columns = two ? &b : NULL, .method = method };
			long live = test_heap_state.live;
			qs_status status = QS_NO_MEMORY;
			long fail;

			r.memory = &test_heap;
			r.variant = QI_VARIANT_ON;
			REQUIRE_OK(qi_filter_init(&r.filter, 1, 0.2, two ? 3 : 0));
			for (fail = 1; status == QS_NO_MEMORY; fail++)
			{
				test_fail_at(fail);
				status = whole_run(&r);
				test_fail_at(0);
				REQUIRE(test_heap_state.live == live);
			}
			REQUIRE(status == QS_OK);
		}
	qi_collection_free(&a);
	qi_collection_free(&b);
	test_no_leak();
}

/* ---- real data ---- */

static void
add_transactions(FILE *f, qi_builder *b)
{
	static char line[1 << 16];
	int64_t set = 0;

	while (fgets(line, sizeof(line), f))
	{
		char *at = line;
		char *end;
		uint64_t item;

		set++;
		for (item = strtoull(at, &end, 10); end != at; item = strtoull(at, &end, 10))
		{
			REQUIRE_OK(qi_builder_add(b, &set, &item, NULL, 1));
			at = end;
		}
	}
}

/* Pairs of 1,500 sessions of the news portal, where its data are. */
static void
kosarak(void **state)
{
	FILE *f = popen(
		"zcat ../shared/data/kosarak-36682-transactions.dat.gz 2>/dev/null | head -1500", "r");
	const qi_kernels *table[3];
	size_t tables = test_tables(table);
	qi_request r = { .memory = &test_heap };
	qi_collection c;
	qi_builder b;
	size_t t;

	(void) state;
	REQUIRE(f != NULL);
	test_builder(&b, false);
	add_transactions(f, &b);
	pclose(f);
	REQUIRE_OK(qi_builder_finish(&b, &c));
	qi_builder_free(&b);
	if (c.sets == 0)
	{
		qi_collection_free(&c);
		skip(); /* the data are not here */
	}
	r.rows = &c;
	REQUIRE_OK(qi_filter_init(&r.filter, 12, 0, 0));
	naive_pairs(&r, 0, &wanted);
	REQUIRE(wanted.count > 100);
	name_case(0);
	for (t = 0; t < tables; t++)
		try_methods(&r, table[t], t + 1, 777);
	qi_collection_free(&c);
	test_no_leak();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fractions),
		cmocka_unit_test(boundaries_are_exact),
		cmocka_unit_test(empty_sets),
		cmocka_unit_test(within_a_collection),
		cmocka_unit_test(between_collections),
		cmocka_unit_test(tables_and_shares),
		cmocka_unit_test(wide_lists_and_counters),
		cmocka_unit_test(top_is_the_union),
		cmocka_unit_test(one_against_all),
		cmocka_unit_test(stops_when_told),
		cmocka_unit_test(limits_and_mismatches),
		cmocka_unit_test(no_memory),
		cmocka_unit_test(kosarak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
