/*
 * plan.c
 *		All pairs: the choice of the method by cost.
 *
 * A cost is the estimated time of one processor in ns.  It is a sum of counts, weighted by thirteen
 * constants.  The counts of the index are exact.  The counts of prefixes are estimated first, and
 * are exact after the prefixes are made (measure.c).
 *
 * The constants are rough.  Halving or doubling a constant hardly makes the choice worse
 * (docs/engineering/sets-methods.md).  "make sets-model" compares the choice with the fastest
 * method.
 *
 * src/sets/plan.c
 */
#include "sets/block.h"

/* ---- constants of the cost model, in ns ---- */

#define NS_EVENT     0.3   /* one increment of a counter */
#define NS_ELEMENT   5.0   /* one element put into the index, or looked up in the index */
#define NS_FAR       10.0  /* one element put into an index that is too large for the caches */
#define NS_COUNTER   0.07  /* one counter cleared and read */
#define NS_COLUMN    2.0   /* 512 bits of an element's column, or of two sets' bitmaps */
#define NS_SPREAD    25.0  /* 512 counters computed from the added columns */
#define NS_WORD      3.0   /* one word of a set's bitmap written */
#define NS_SIZES     1.0   /* the sizes of one pair checked */
#define NS_PAIR      20.0  /* the begin of one pair, in methods by bitmaps */
#define NS_SORT      7.0   /* one element sorted by rarity */
#define NS_WINDOW    40.0  /* one element of a prefix: put into a list, or its window found */
#define NS_CANDIDATE 1.5   /* one event of the prefixes; windows exclude half of the events */
#define NS_SIGNED    0.075 /* signatures of one event compared, for each element of the column */

/*
 * From this many distinct elements on, arrays with an item for each element do not fit into the
 * second-level cache.
 */
#define FAR_UNIVERSE (UINT64_C(1) << 18)

/* The maximum number of sets of each side that fraction_alike() samples. */
#define SOME_SETS 100

/*
 * The maximum size in bytes of all columns of bits together, which then fit into the third-level
 * cache.
 */
#define MOST_BITS (UINT64_C(4) << 20)

/*
 * The bytes of a block without bitmaps of all sets, relative to the bytes of the collections.  A
 * collection has 4 bytes for each element and 16 bytes for each set.  A block has at most 17 bytes
 * for each element (ranks, entries, lists of prefixes and signatures) and 40 bytes for each set.
 */
#define ENOUGH_FACTOR 5
#define ENOUGH_HEAD   4096

/*
 * The maximum size in bytes of a block with bitmaps of all sets, unless the request sets a limit or
 * requests these bitmaps.
 */
#define MOST_RESIDENT (UINT64_C(1) << 30)

/* ---- costs ---- */

/*
 * Choose the least degree of heavy elements.  A heavy element's column of bits must be cheaper than
 * its list, and all columns of bits must fit into MOST_BITS.
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

/* Return the number of occurrences of heavy elements in rows. */
static double
heavy_entries(const qset_preparation *p)
{
	uint64_t entries = 0;
	uint64_t d;

	for (d = p->heavy_degree; d <= p->column.sets; d++)
		entries += p->bin[d].occurrences;
	return (double) entries;
}

/* True if the bitmaps of all sets fit into the limit of memory. */
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

/* Return the average size of a column. */
static uint64_t
column_size(const qset_preparation *p)
{
	return p->column.sets > 0 ? p->column.elements / p->column.sets : 0;
}

/*
 * Return the fraction of pairs whose sizes allow them to pass, estimated from a sample of each
 * side.  A pair's weight is the product of the sizes of its sets, because the expected number of
 * common elements grows with this product.
 */
static double
fraction_alike(const qset_preparation *p)
{
	const qset_side *r = &p->row;
	const qset_side *c = &p->column;
	double alike = 0;
	double all = 0;
	uint64_t i;
	uint64_t j;

	for (i = 0; i < r->sets; i += r->sets / SOME_SETS + 1)
	{
		uint64_t row = qset_set_size(r->collection, r->kept[i]);
		uint64_t least;
		uint64_t most;

		qset_filter_sizes(&p->request.filter, row, &least, &most);
		for (j = 0; j < c->sets; j += c->sets / SOME_SETS + 1)
		{
			uint64_t size = qset_set_size(c->collection, c->kept[j]);
			double weight = (double) row * (double) size;

			alike += size >= least && size <= most ? weight : 0;
			all += weight;
		}
	}
	return all > 0 ? alike / all : 0;
}

/*
 * Set the costs of the paper's techniques.  Only bitmaps of all sets can be faster than the index.
 * All other techniques are given the cost of the row's bitmap, so that a query that names one of
 * these techniques gets parallel workers.
 */
static void
cost_techniques(qset_preparation *p, double pairs, double alike)
{
	qset_plan *plan = &p->plan;
	double words = (double) qset_bitmap_words(plan->universe);
	double sets = (double) (qset_within_one(&p->request) ? 0 : plan->columns) + plan->rows;
	double begun = pairs * NS_SIZES + alike * NS_PAIR;
	double probed = begun + alike * (double) column_size(p) * NS_EVENT;
	double made = sets * words * NS_WORD;
	double resident = made + begun + alike * words / QSET_BLOCK_WORDS * NS_COLUMN;
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

static void
cost_index(qset_preparation *p, double pairs)
{
	qset_plan *plan = &p->plan;
	double put = plan->universe < FAR_UNIVERSE ? NS_ELEMENT : NS_FAR;
	double build = (double) (plan->row_elements + plan->column_elements) * put;
	double lookups = (double) plan->row_elements * NS_ELEMENT + pairs * NS_COUNTER;
	double heavy = heavy_entries(p);
	double added = heavy < plan->rows ? heavy : (double) plan->rows; /* rows with a heavy element */
	double blocks = (plan->tail ? 0.5 : 1) * (double) plan->columns / QSET_BLOCK + 1;

	plan->build[QSET_INDEX] = plan->build[QSET_HYBRID] = build;
	plan->cost[QSET_INDEX] = build + lookups + (double) plan->events * NS_EVENT;
	plan->cost[QSET_HYBRID] = build + lookups + (double) plan->light_events * NS_EVENT +
							  blocks * (heavy * NS_COLUMN + added * NS_SPREAD) - heavy * NS_ELEMENT;
}

/* Return the cheapest method that "auto" may choose; QSET_AUTO: no method is possible. */
static int
cheapest(const qset_plan *plan)
{
	int best = QSET_AUTO;
	int method;

	for (method = plan->resident ? QSET_BITMAP : QSET_INDEX; method < QSET_METHODS; method++)
		if (plan->cost[method] >= 0 && (best == QSET_AUTO || plan->cost[method] < plan->cost[best]))
			best = method;
	return best;
}

/* Return the cost of making prefixes of "entered" elements, and of making their index. */
static double
prefix_build(const qset_preparation *p, double entered)
{
	double elements = (double) p->column.elements;

	if (!qset_within_one(&p->request))
		elements += (double) p->row.elements;
	return elements * NS_SORT + entered * NS_WINDOW;
}

/*
 * Return the cost of counting by prefixes whose lists have "events" events.  "alike" is the
 * fraction of pairs whose sizes allow them to pass.  Windows exclude all other pairs.
 */
static double
prefix_count(const qset_preparation *p, double events, double alike)
{
	return events * alike * (NS_CANDIDATE + (double) column_size(p) * NS_SIGNED);
}

/*
 * True if the request is for prefixes, or if prefixes are likely to be fastest.  False if pairs
 * without a common element can pass, because prefixes never find these pairs.  Without a least
 * Jaccard index prefixes are seldom fastest, unless pairs have nearly all elements in common.  The
 * exact number of events is known only after the prefixes are made, which may take as long as a
 * whole search.
 */
static bool
prefixes_promise(const qset_preparation *p, double alike)
{
	const qset_request *r = &p->request;
	int rival = r->method == QSET_AUTO ? cheapest(&p->plan) : QSET_INDEX;
	double entered;
	double events;

	if (qset_filter_passes_nothing(&r->filter) || r->variant == QSET_VARIANT_OFF ||
		(r->method != QSET_AUTO && r->method != QSET_INDEX))
		return false;
	if (r->variant == QSET_VARIANT_ON)
		return true;
	if (p->column.sets == 0 || (r->filter.numerator == 0 &&
								(double) r->filter.min_count * 8 < (double) column_size(p) * 7))
		return false;
	qset_expect_prefixes(p, &entered, &events);
	return prefix_build(p, entered) + prefix_count(p, events, alike) < p->plan.cost[rival];
}

/*
 * Choose whether the index uses prefixes, after the prefixes were made.  If so, set the cost of the
 * index.
 */
static void
cost_prefixes(qset_preparation *p, double alike)
{
	qset_plan *plan = &p->plan;
	double build = prefix_build(p, (double) (p->column.prefix_elements + p->row.prefix_elements));
	double cost = build + prefix_count(p, (double) plan->prefix_events, alike);

	plan->prefix = p->request.variant == QSET_VARIANT_ON || cost < plan->cost[QSET_INDEX];
	if (!plan->prefix)
		return;
	plan->cost[QSET_INDEX] = cost;
	plan->build[QSET_INDEX] = build;
}

/* Set the bytes of each method, and the cost of methods that exceed the limit to -1. */
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
 * Choose the method.  "auto" chooses the cheapest method.  Of the techniques, "auto" considers only
 * bitmaps of all sets, which are fastest for a few large sets.
 */
static qb_status
choose_method(qset_preparation *p)
{
	qset_plan *plan = &p->plan;

	plan->method = p->request.method != QSET_AUTO ? p->request.method : cheapest(plan);
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
	return ENOUGH_FACTOR * bytes + ENOUGH_HEAD;
}

qb_status
qset_prepare(qset_preparation *p, const qset_request *request)
{
	qb_status status;
	double pairs;
	double alike;

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
	pairs = (p->plan.tail ? 0.5 : 1) * (double) p->plan.rows * (double) p->plan.columns;
	alike = fraction_alike(p);
	choose_heavy(p);
	cost_techniques(p, pairs, pairs * alike);
	cost_index(p, pairs);
	if (prefixes_promise(p, alike))
	{
		status = qset_make_prefixes(p);
		if (status != QB_OK)
			return status;
		cost_prefixes(p, alike);
	}
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
