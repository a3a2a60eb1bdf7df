/*
 * plan.c
 *		All pairs: the choice of the method by cost.
 *
 * A cost is the estimated time of one processor in ns.  It multiplies exact
 * counts (the index's events, also with prefixes; measure.c) by constants that
 * "make sets-bench" measures (docs/engineering/sets-methods.md).  Only the ratios of costs
 * matter.
 *
 * src/sets/plan.c
 */
#include "sets/block.h"

/* ---- constants of the cost model, ns: AMD EPYC (Zen 4), 2026-11-22, machine in use ---- */

#define NS_EVENT     0.27 /* one increment of a counter */
#define NS_ENTRY     5.0  /* one element of a row: its list lies elsewhere in memory */
#define NS_BUILD     4.0  /* one element put into the index */
#define NS_BUILD_FAR 9.0  /* one element put into an index that is too large for the caches */
#define NS_SCAN      0.05 /* one counter cleared and looked at */
#define NS_COLUMN    1.9  /* 512 bits added by sum_columns() */
#define NS_SPREAD    25.0 /* 512 counters made of the sums */
#define NS_WINDOW    22.0 /* one element of a prefix: put into a list, or its window found */
#define NS_SIGN      2.0  /* one element of a signature */
#define NS_CANDIDATE 2.0  /* one event of the index of prefixes: its column is looked up */
#define NS_SIGNED    0.8  /* one word of its signature */
#define NS_CHECK     70.0 /* beginning to merge a candidate: its set lies elsewhere in memory */
#define NS_CHECKED   0.5  /* one element merged with a candidate */
#define NS_LOOK      1.0  /* one pair's sizes looked at */
#define NS_PROBE     0.47 /* one probe of a bitmap in the cache */
#define NS_BITMAP    4.0  /* beginning one pair by a technique */
#define NS_AND       1.7  /* 512 bits of two bitmaps */
#define NS_WORD      2.3  /* one word of the bitmaps of all sets, made beforehand */
#define NS_RARITY    3.0  /* the rarity of one element looked up */
#define NS_SORT      5.0  /* one element sorted by rarity */

/*
 * A sample of prefixes costs time itself, so it is taken only if prefixes may
 * save more than this factor.
 */
#define WORTH_ASKING 1.1

/* Preparing prefixes may take half of the time that is expected. */
#define FAR_LESS 0.5

/* The fraction of the candidates that signatures let through, where they can tell: the pairs. */
#define LET_THROUGH 0.03

/* They can tell if unrelated sets differ in so many times the bits that a pair that passes may. */
#define SURELY 1.5

/*
 * From this many distinct elements on, arrays with an item for each element do
 * not stay in the caches.
 */
#define FAR_UNIVERSE (UINT64_C(1) << 18)

/* Columns of bits that take more than this leave the second-level cache. */
#define MOST_BITS (UINT64_C(4) << 20)

/*
 * Bytes of the arrays of a block, but for the bitmaps of all sets, compared
 * with the collections.  A collection takes 4 bytes an element and 16 a set.  A
 * block takes at most 16 an element (ranks, entries and lists of prefixes) and
 * 32 a set.
 */
#define ENOUGH_SHARE 5
#define ENOUGH_HEAD  4096

/* All bitmaps together may take this, unless the request gives a limit or asks for them. */
#define MOST_RESIDENT (UINT64_C(1) << 30)

/* ---- costs ---- */

/*
 * Choose the least degree of heavy elements: a column of bits must be cheaper
 * than a list, and all columns of bits must fit.
 */
static void
choose_heavy(qset_preparation *p)
{
	qset_plan *plan = &p->plan;
	uint64_t blocks = plan->columns / QSET_BLOCK + 1;
	uint64_t most = MOST_BITS / (blocks * QSET_BLOCK / 8);
	uint64_t bound = 2 + (uint64_t) (blocks * NS_COLUMN / NS_EVENT);
	uint64_t d;

	if (most > QSET_MAX_COLUMNS)
		most = QSET_MAX_COLUMNS;
	for (;; bound += bound / 4 + 1)
	{
		plan->heavy = 0;
		for (d = bound; d <= p->column.sets; d++)
			plan->heavy += p->bin[d].elements;
		if (plan->heavy <= most)
			break;
	}
	p->heavy_degree = bound;
	plan->light_events = qset_events_below(p, bound);
}

/* Occurrences of heavy elements in rows. */
static double
heavy_entries(const qset_preparation *p)
{
	uint64_t entries = 0;
	uint64_t d;

	for (d = p->heavy_degree; d <= p->column.sets; d++)
		entries += p->bin[d].occurrences;
	return (double) entries;
}

/* Is there room for the bitmaps of all sets at once? */
static bool
resident_fits(const qset_preparation *p)
{
	uint64_t limit = p->request.memory_limit ? p->request.memory_limit : MOST_RESIDENT;
	qset_plan plan = p->plan;
	qset_block b;

	plan.method = QSET_BITMAP;
	plan.resident = true;
	qset_block_layout(p, &plan, &b);
	return b.bytes <= limit;
}

/*
 * The paper's techniques, pair by pair.  Bitmaps of all sets are worth comparing with the
 * index.  The others never are; what they cost is taken to be what the row's bitmap does,
 * so that those who name them get workers.
 */
static void
cost_techniques(qset_preparation *p, const qset_sums *s)
{
	qset_plan *plan = &p->plan;
	double words = (double) qset_bitmap_words(plan->universe);
	double sets = plan->tail ? (double) plan->rows : (double) plan->rows + plan->columns;
	double begun = s->pairs * NS_LOOK + s->alike * NS_BITMAP;
	double probed = begun + (s->others + plan->row_elements) * NS_PROBE;
	double made = sets * words * NS_WORD;
	double resident = made + begun + s->alike * words / QSET_BLOCK_WORDS * NS_AND;
	int variant = p->request.variant;
	int method;

	for (method = QSET_MERGE; method <= QSET_BITMAP; method++)
		plan->cost[method] = probed;
	plan->resident = variant == QSET_VARIANT_ON ||
					 (variant == QSET_VARIANT_AUTO &&
					  (p->request.method == QSET_AUTO || resident < probed) && resident_fits(p));
	if (!plan->resident)
		return;
	plan->cost[QSET_BITMAP] = resident;
	plan->build[QSET_BITMAP] = made;
}

/* The cost of putting one element into the index. */
static double
build_one(const qset_preparation *p)
{
	return p->plan.universe < FAR_UNIVERSE ? NS_BUILD : NS_BUILD_FAR;
}

static void
cost_index(qset_preparation *p, const qset_sums *s)
{
	qset_plan *plan = &p->plan;
	double scan = s->pairs * NS_SCAN;
	double build = s->element * build_one(p);
	double entries = plan->row_elements;
	double heavy = heavy_entries(p);
	double rows = heavy < plan->rows ? heavy : plan->rows; /* that have any */

	plan->build[QSET_INDEX] = plan->build[QSET_HYBRID] = build;
	plan->cost[QSET_INDEX] = build + scan + entries * NS_ENTRY + plan->events * NS_EVENT;
	plan->cost[QSET_HYBRID] = build + scan + (entries - heavy) * NS_ENTRY +
							  plan->light_events * NS_EVENT +
							  s->blocks * (heavy * NS_COLUMN + rows * NS_SPREAD);
}

/* The least cost so far among the methods that may be chosen: index, and for "auto" hybrid. */
static double
cheapest_so_far(const qset_preparation *p)
{
	const double *cost = p->plan.cost;
	bool hybrid = p->request.method == QSET_AUTO && cost[QSET_HYBRID] < cost[QSET_INDEX];

	return cost[hybrid ? QSET_HYBRID : QSET_INDEX];
}

/* Would "auto" take the bitmaps of all sets, whatever prefixes cost once they are prepared? */
static bool
bitmaps_win(const qset_preparation *p, double preparation)
{
	return p->request.method == QSET_AUTO && p->plan.resident &&
		   p->plan.cost[QSET_BITMAP] < preparation * FAR_LESS;
}

/* x to the power of n. */
static double
power(double x, uint64_t n)
{
	double result = 1;

	for (; n > 0; n /= 2, x *= x)
		result *= n % 2 ? x : 1;
	return result;
}

/*
 * The fraction of the candidates that signatures let through.  Sets of average sizes that
 * have nothing in common differ in so many bits; a pair that passes, in so many at most.
 */
static double
let_through(const qset_preparation *p, const qset_sums *s)
{
	const qset_filter *f = &p->request.filter;
	double bits = (double) (UINT64_C(64) << qset_signature_level((uint64_t) s->column));
	double row = 1 - power(1 - 1 / bits, (uint64_t) s->row);
	double column = 1 - power(1 - 1 / bits, (uint64_t) s->column);
	double different = bits * (row + column - 2 * row * column);
	double needed = (s->row + s->column) * ((double) qset_signature_share(f) / 0x1p32);

	if (needed < (double) f->min_count)
		needed = (double) f->min_count;
	return different > SURELY * (s->row + s->column - 2 * needed) ? LET_THROUGH : 1;
}

/*
 * The cost of counting by prefixes whose lists have so many events.  With a least
 * Jaccard index windows leave out sizes that cannot pass, and half of the others;
 * within one collection they have both sets of a pair.
 */
static double
prefix_count(const qset_preparation *p, const qset_sums *s, double events)
{
	uint64_t sets = p->column.sets > 0 ? p->column.sets : 1;
	double words = (double) p->column.signature_words / (double) sets;
	double half = p->request.filter.numerator > 0 ? 0.5 : 1;
	double walked = events * s->meeting * (p->plan.tail ? 2 * half : half);
	double met = events * s->meeting * half * let_through(p, s);
	double merged = met < s->alike ? met : s->alike; /* a candidate may come several times */

	return walked * (NS_CANDIDATE + words * NS_SIGNED) +
		   merged * (NS_CHECK + (s->row + s->column) * NS_CHECKED);
}

/* The cost of entering so many elements of prefixes, and of signing the columns. */
static double
prefix_build(const qset_preparation *p, double entered)
{
	return entered * NS_WINDOW + (double) p->column.elements * NS_SIGN;
}

/*
 * The cost of preparing prefixes: sorting elements, and putting elements into the
 * index.  Within one collection elements that no other set has are the first of their
 * prefixes, and are neither sorted nor put there.
 */
static double
prefix_preparation(const qset_preparation *p)
{
	double elements = (double) p->column.elements;
	double entered = (double) qset_prefix_room(p, &p->column);
	double lonely = 0;

	if (qset_within_one(&p->request))
	{
		lonely = p->column.sets > 0 ? (double) p->bin[1].elements : 0;
		entered = entered > lonely ? 2 * (entered - lonely) : 0;
	}
	else
	{
		elements += (double) p->row.elements;
		entered += (double) qset_prefix_room(p, &p->row);
	}
	return elements * NS_RARITY + (elements - lonely) * NS_SORT + prefix_build(p, entered);
}

/*
 * Does the request ask for prefixes, or are they likely to pay?  Exact events
 * are known only after prefixes are made, which may cost more than a whole
 * search by another method.  So a sample of the sets decides.
 */
static qb_status
prefixes_promise(qset_preparation *p, const qset_sums *s, bool *promise)
{
	const qset_request *r = &p->request;
	double cheapest = cheapest_so_far(p);
	double preparation;
	double events;
	qb_status status;

	*promise = false;
	if (qset_filter_passes_nothing(&r->filter) || r->variant == QSET_VARIANT_OFF ||
		(r->method != QSET_AUTO && r->method != QSET_INDEX))
		return QB_OK;
	*promise = r->variant == QSET_VARIANT_ON;
	if (*promise || cheapest < (double) p->column.elements * NS_SORT)
		return QB_OK;
	preparation = prefix_preparation(p);
	if (cheapest < preparation * WORTH_ASKING || bitmaps_win(p, preparation))
		return QB_OK;
	status = qset_sample_prefixes(p, &events);
	*promise = status == QB_OK && preparation + prefix_count(p, s, events) < cheapest;
	return status;
}

/* The cost of the index of prefixes, which are made already. */
static void
cost_prefixes(qset_preparation *p, const qset_sums *s)
{
	qset_plan *plan = &p->plan;
	double entered = (double) (p->column.prefix_elements + p->row.prefix_elements);
	double build = prefix_build(p, entered);
	double cost = build + prefix_count(p, s, (double) plan->prefix_events);

	plan->prefix = p->request.variant == QSET_VARIANT_ON || cost < plan->cost[QSET_INDEX];
	if (!plan->prefix)
		return;
	plan->cost[QSET_INDEX] = cost;
	plan->build[QSET_INDEX] = build;
}

/* Set the bytes of each method, and mark methods that do not fit as impossible. */
static void
limit_memory(qset_preparation *p)
{
	uint64_t limit = p->request.memory_limit;
	int method;

	for (method = QSET_MERGE; method < QSET_METHODS; method++)
	{
		qset_plan plan = p->plan;
		qset_block b;

		plan.method = method;
		qset_block_layout(p, &plan, &b);
		p->plan.memory[method] = b.bytes;
		if (limit > 0 && b.bytes > limit)
			p->plan.cost[method] = -1;
	}
}

/*
 * "auto" takes the cheapest method.  Of the techniques, which are there to be chosen by
 * name, it takes none but the bitmaps of all sets, which win for a few large sets.
 */
static qb_status
choose_method(qset_preparation *p)
{
	qset_plan *plan = &p->plan;
	int method;

	plan->method = p->request.method;
	if (plan->method == QSET_AUTO)
		for (method = plan->resident ? QSET_BITMAP : QSET_INDEX; method < QSET_METHODS; method++)
			if (plan->cost[method] >= 0 &&
				(plan->method == QSET_AUTO || plan->cost[method] < plan->cost[plan->method]))
				plan->method = method;
	if (plan->method == QSET_AUTO || plan->cost[plan->method] < 0)
		return QB_NO_ROOM;
	plan->prefix = plan->prefix && plan->method == QSET_INDEX;
	plan->resident = plan->resident && plan->method == QSET_BITMAP;
	plan->bytes = plan->memory[plan->method];
	return QB_OK;
}

uint64_t
qset_memory_enough(const qset_request *r)
{
	uint64_t bytes = qset_collection_memory(r->rows);

	if (r->columns)
		bytes += qset_collection_memory(r->columns);
	return ENOUGH_SHARE * bytes + ENOUGH_HEAD;
}

qb_status
qset_prepare(qset_preparation *p, const qset_request *request)
{
	qb_status status;
	bool prefixes;
	qset_sums s;

	memset(p, 0, sizeof(*p));
	p->request = *request;
	p->column.collection = request->columns ? request->columns : request->rows;
	p->row.collection = request->rows;
	p->plan.tail = qset_within_one(request) && !request->directed && request->filter.top == 0;
	if (request->method < QSET_AUTO || request->method >= QSET_METHODS)
		return QB_BAD_METHOD;
	if (p->column.collection->sets > QSET_MAX_SETS || request->rows->sets > QSET_MAX_SETS)
		return QB_TOO_MANY;
	if (!qset_collections_match(p->column.collection, request->rows))
		return QB_MISMATCH;
	status = qset_measure(p);
	if (status != QB_OK)
		return status;
	qset_sum(p, &s);
	choose_heavy(p);
	cost_techniques(p, &s);
	cost_index(p, &s);
	status = prefixes_promise(p, &s, &prefixes);
	if (status == QB_OK && prefixes)
		status = qset_make_prefixes(p);
	if (status != QB_OK)
		return status;
	if (prefixes)
		cost_prefixes(p, &s);
	limit_memory(p);
	return choose_method(p);
}

static void
free_side(qset_side *s, const qb_memory *memory)
{
	qset_release(memory, s->kept);
	qset_release(memory, s->prefix_offset);
	qset_release(memory, s->prefix);
}

void
qset_prepared_free(qset_preparation *p)
{
	const qb_memory *memory = p->request.memory;

	if (p->request.columns)
		free_side(&p->row, memory);
	free_side(&p->column, memory);
	if (p->row_degree != p->degree)
		qset_release(memory, p->row_degree);
	qset_release(memory, p->degree);
	qset_release(memory, p->bin);
	qset_release(memory, p->map);
	qset_release(memory, p->rarity);
	qset_release(memory, p->prefix_degree);
	qset_release(memory, p->buffer);
}

/* ---- the methods' names ---- */

static const char *const names[QSET_METHODS] = {
	"auto", "merge", "search", "merge_search", "hash", "merge_hash", "bitmap", "index", "hybrid",
};

const char *
qset_method_name(int method)
{
	return method >= 0 && method < QSET_METHODS ? names[method] : NULL;
}

int
qset_method_of(const char *name)
{
	int i;

	for (i = 0; i < QSET_METHODS; i++)
		if (strcmp(name, names[i]) == 0)
			return i;
	return -1;
}
