/*
 * plan.c
 *		All pairs: the choice of the method by cost.
 *
 * The costs are those of one processor, in ns, from counts that are exact (the
 * index's events, also with prefixes; measure.c) and constants that make
 * sets-bench measures (docs/sets.md).  Only their ratios matter.
 *
 * src/sets/plan.c
 */
#include "sets/block.h"
#include "sets/measure.h"

/* ---- constants of the cost model, ns: AMD EPYC (Zen 4), 2026-11-22, while others worked ---- */

#define NS_EVENT     0.27 /* one increment of a counter */
#define NS_ENTRY     5.0  /* one element of a row: its list begins somewhere else */
#define NS_BUILD     4.0  /* one element put into the index */
#define NS_BUILD_FAR 9.0  /* the same where elements are too many for the caches */
#define NS_SCAN      0.05 /* one counter cleared and looked at */
#define NS_COLUMN    1.9  /* 512 bits added by sum_columns() */
#define NS_SPREAD    25.0 /* 512 counters made of them */
#define NS_CANDIDATE 2.0  /* one event of the index of prefixes */
#define NS_CHECK     70.0 /* beginning to merge a candidate: its set lies somewhere else */
#define NS_CHECKED   0.5  /* one element of it */
#define NS_LOOK      1.0  /* one pair's sizes looked at */
#define NS_PAIR      40.0 /* beginning one merge of neighbours */
#define NS_MERGE     0.36 /* one element of it */
#define NS_SEARCH    0.6  /* one step of a binary search */
#define NS_HASH      7.5  /* one probe of a hash table in the cache */
#define NS_PROBE     0.47 /* one probe of a bitmap in the cache */
#define NS_BITMAP    4.0  /* beginning one pair otherwise */
#define NS_AND       1.7  /* 512 bits of two bitmaps */
#define NS_WORD      2.3  /* one word of the bitmaps of all sets made */
#define NS_SORT      14.0 /* one element sorted by rarity */
#define NS_CUT       60.0 /* one cut of a merge path */

/* Prefixes that would save less than this are not worth a sample, which costs some of it. */
#define WORTH_ASKING 1.2

/* Sets of either side by which sizes are judged. */
#define SOME_SETS 100

/* From so many distinct elements on what is kept of each does not stay in the caches. */
#define FAR_UNIVERSE (UINT64_C(1) << 19)

/* Columns of bits that take more than this leave the second-level cache. */
#define MOST_BITS (UINT64_C(4) << 20)

/*
 * What the arrays of any block but that of all bitmaps take, in those of the
 * collections: 4 bytes an element and 16 a set there; here at most 16 an element (ranks, entries
 * and lists of prefixes) and 32 a set.
 */
#define ENOUGH_SHARE 4
#define ENOUGH_HEAD  4096

/* All bitmaps at once may take this, unless a limit is given or they are asked for. */
#define MOST_RESIDENT (UINT64_C(1) << 30)

/* ---- costs ---- */

static double
log2_of(double x)
{
	int bits = 0;

	for (; x >= 2; x /= 2)
		bits++;
	return bits + x - 1;
}

/* What all pairwise methods have in common. */
typedef struct sums
{
	double share;   /* of the rows that are wanted */
	double pairs;   /* of the rows wanted */
	double alike;   /* of which sizes allow that they pass */
	double others;  /* elements of the columns of these, together */
	double row;     /* average elements of a row */
	double column;  /* and of a column */
	double element; /* average elements of both sides */
	double blocks;  /* of columns that a row sees, on average */
} sums;

/* The share of pairs whose sizes allow that they pass, from some of each side's sets. */
static double
share_alike(const qi_preparation *p)
{
	const qi_side *r = &p->row;
	const qi_side *c = &p->column;
	uint64_t alike = 0;
	uint64_t pairs = 0;
	uint64_t i;
	uint64_t j;

	if (p->request.filter.numerator == 0)
		return 1;
	for (i = 0; i < r->sets; i += r->sets / SOME_SETS + 1)
	{
		uint64_t least;
		uint64_t most;

		qi_filter_sizes(&p->request.filter, qi_set_size(r->collection, r->kept[i]), &least, &most);
		for (j = 0; j < c->sets; j += c->sets / SOME_SETS + 1)
		{
			uint64_t size = qi_set_size(c->collection, c->kept[j]);

			alike += size >= least && size <= most;
			pairs++;
		}
	}
	return (double) alike / (double) pairs;
}

static sums
sums_of(const qi_preparation *p)
{
	const qi_plan *plan = &p->plan;
	double half = plan->tail ? 0.5 : 1;
	uint64_t wanted = p->request.rows_wanted ? p->request.rows_wanted : plan->rows;
	sums s = { 0 };

	if (wanted > plan->rows)
		wanted = plan->rows;
	if (plan->rows == 0 || plan->columns == 0)
		return s;
	s.share = (double) wanted / plan->rows;
	s.pairs = half * wanted * plan->columns;
	s.alike = s.pairs * share_alike(p);
	s.others = s.alike / plan->columns * plan->column_elements;
	s.row = (double) plan->row_elements / plan->rows;
	s.column = (double) plan->column_elements / plan->columns;
	s.element = s.share * plan->row_elements + plan->column_elements;
	s.blocks = half * (plan->columns / (double) QI_BLOCK) + 1;
	return s;
}

/*
 * The degree from which on a column of bits is cheaper than a list, and at
 * which the columns fit.
 */
static void
choose_heavy(qi_preparation *p)
{
	qi_plan *plan = &p->plan;
	uint64_t blocks = plan->columns / QI_BLOCK + 1;
	uint64_t most = MOST_BITS / (blocks * QI_BLOCK / 8);
	uint64_t bound = 2 + (uint64_t) (blocks * NS_COLUMN / NS_EVENT);
	uint64_t d;

	if (most > QI_MAX_COLUMNS)
		most = QI_MAX_COLUMNS;
	for (;; bound += bound / 4 + 1)
	{
		plan->heavy = 0;
		for (d = bound; d <= p->column.sets; d++)
			plan->heavy += p->bin[d].elements;
		if (plan->heavy <= most)
			break;
	}
	p->heavy_degree = bound;
	plan->light_events = qi_events_below(p, bound);
}

/* Occurrences of heavy elements in rows. */
static double
heavy_entries(const qi_preparation *p)
{
	uint64_t entries = 0;
	uint64_t d;

	for (d = p->heavy_degree; d <= p->column.sets; d++)
		entries += p->bin[d].occurrences;
	return (double) entries;
}

/* Is there room for the bitmaps of all sets at once? */
static bool
resident_fits(const qi_preparation *p)
{
	uint64_t limit = p->request.memory_limit ? p->request.memory_limit : MOST_RESIDENT;
	qi_plan plan = p->plan;
	qi_block b;

	plan.method = QI_BITMAP;
	plan.resident = true;
	qi_block_layout(p, &plan, &b);
	return b.bytes <= limit;
}

static void
cost_pairwise(qi_preparation *p, const sums *s)
{
	double *cost = p->plan.cost;
	double small = s->row < s->column ? s->row : s->column;
	double large = s->row + s->column - small;
	double both = s->alike * (s->row + s->column);
	double cuts = s->alike * ((s->row + s->column) / QI_PIECE + 1) * NS_CUT;
	double words = (double) qi_bitmap_words(p->plan.universe);
	double made = p->plan.tail ? (double) p->plan.rows : (double) p->plan.rows + p->plan.columns;
	double merges = s->pairs * NS_LOOK + s->alike * NS_PAIR;
	double others = s->pairs * NS_LOOK + s->alike * NS_BITMAP;
	double begun = s->share * p->plan.row_elements;
	double dynamic = others + (s->others + begun) * NS_PROBE;
	double naive = others + s->alike * words / QI_BLOCK_WORDS * NS_AND + made * words * NS_WORD;
	int variant = p->request.variant;

	cost[QI_MERGE] = merges + both * NS_MERGE;
	cost[QI_SEARCH] = others + s->alike * small * (log2_of(large) + 1) * NS_SEARCH;
	cost[QI_MERGE_SEARCH] = cost[QI_SEARCH] + cuts;
	cost[QI_HASH] = others + (s->others + begun) * NS_HASH;
	cost[QI_MERGE_HASH] = merges + both * NS_HASH + cuts;
	p->plan.resident = variant == QI_VARIANT_ON ||
					   (variant == QI_VARIANT_AUTO && naive < dynamic && resident_fits(p));
	cost[QI_BITMAP] = p->plan.resident ? naive : dynamic;
}

/* One element put into the index. */
static double
build_one(const qi_preparation *p)
{
	return p->plan.universe < FAR_UNIVERSE ? NS_BUILD : NS_BUILD_FAR;
}

static void
cost_index(qi_preparation *p, const sums *s)
{
	qi_plan *plan = &p->plan;
	double scan = s->pairs * NS_SCAN;
	double build = s->element * build_one(p);
	double entries = s->share * plan->row_elements;
	double heavy = heavy_entries(p) * s->share;
	double rows = heavy < s->share * plan->rows ? heavy : s->share * plan->rows; /* that have any */

	plan->build[QI_INDEX] = plan->build[QI_HYBRID] = build;
	plan->cost[QI_INDEX] = build + scan + entries * NS_ENTRY + s->share * plan->events * NS_EVENT;
	plan->cost[QI_HYBRID] = build + scan + (entries - heavy) * NS_ENTRY +
							s->share * plan->light_events * NS_EVENT +
							s->blocks * (heavy * NS_COLUMN + rows * NS_SPREAD);
}

/* The least cost so far of what may be chosen. */
static double
cheapest_so_far(const qi_preparation *p)
{
	double cheapest = p->plan.cost[QI_INDEX];
	int method;

	for (method = QI_MERGE; p->request.method == QI_AUTO && method < QI_METHODS; method++)
		if (p->plan.cost[method] < cheapest)
			cheapest = p->plan.cost[method];
	return cheapest;
}

/* Counting by it, if their lists have so many events. */
static double
prefix_count(const sums *s, double events)
{
	/* a candidate may come several times; at most every pair is one */
	double candidates = s->share * events;
	double merged = (candidates < s->pairs ? candidates / s->pairs : 1) * s->alike;

	return candidates * NS_CANDIDATE + merged * (NS_CHECK + (s->row + s->column) * NS_CHECKED);
}

/* Prefixes' elements at most: those that are sorted, and those put into the index. */
static double
prefix_preparation(const qi_preparation *p)
{
	double sorted = (double) p->column.elements;
	double entered = (double) qi_prefix_room(p, &p->column);

	if (!qi_within_one(&p->request))
	{
		sorted += (double) p->row.elements;
		entered += (double) qi_prefix_room(p, &p->row);
	}
	else
		entered *= 2;
	return sorted * NS_SORT + entered * build_one(p);
}

/*
 * Are prefixes asked for, or likely to pay for being made?  Their events are
 * known once they are made, which costs more than a whole search by another
 * method may, so those of a sample of the sets decide.
 */
static qs_status
prefixes_promise(qi_preparation *p, const sums *s, bool *promise)
{
	const qi_request *r = &p->request;
	double cheapest = cheapest_so_far(p);
	double preparation;
	double events;
	qs_status status;

	*promise = false;
	if (qi_filter_passes_nothing(&r->filter) || r->variant == QI_VARIANT_OFF ||
		(r->method != QI_AUTO && r->method != QI_INDEX))
		return QS_OK;
	*promise = r->variant == QI_VARIANT_ON;
	if (*promise || r->rows_wanted != 0 || cheapest < (double) p->column.elements * NS_SORT)
		return QS_OK;
	preparation = prefix_preparation(p);
	if (cheapest < preparation * WORTH_ASKING)
		return QS_OK;
	status = qi_sample_prefixes(p, &events);
	*promise = status == QS_OK && preparation + prefix_count(s, events) < cheapest;
	return status;
}

/* The index of prefixes, which are made already. */
static void
cost_prefixes(qi_preparation *p, const sums *s)
{
	qi_plan *plan = &p->plan;
	double entered = (double) (p->column.prefix_elements + p->row.prefix_elements);
	double build = entered * build_one(p);
	double cost = build + prefix_count(s, (double) plan->prefix_events);

	plan->prefix = p->request.variant == QI_VARIANT_ON || cost < plan->cost[QI_INDEX];
	if (!plan->prefix)
		return;
	plan->cost[QI_INDEX] = cost;
	plan->build[QI_INDEX] = build;
}

/* Bytes of each method, which also says whether it is possible. */
static void
limit_memory(qi_preparation *p)
{
	uint64_t limit = p->request.memory_limit;
	int method;

	for (method = QI_MERGE; method < QI_METHODS; method++)
	{
		qi_plan plan = p->plan;
		qi_block b;

		plan.method = method;
		qi_block_layout(p, &plan, &b);
		p->plan.memory[method] = b.bytes;
		if (limit > 0 && b.bytes > limit)
			p->plan.cost[method] = -1;
	}
}

static qs_status
choose_method(qi_preparation *p)
{
	qi_plan *plan = &p->plan;
	int method;

	plan->method = p->request.method;
	if (plan->method == QI_AUTO)
		for (method = QI_MERGE; method < QI_METHODS; method++)
			if (plan->cost[method] >= 0 &&
				(plan->method == QI_AUTO || plan->cost[method] < plan->cost[plan->method]))
				plan->method = method;
	if (plan->method == QI_AUTO || plan->cost[plan->method] < 0)
		return QS_NO_ROOM;
	plan->prefix = plan->prefix && plan->method == QI_INDEX;
	plan->resident = plan->resident && plan->method == QI_BITMAP;
	plan->bytes = plan->memory[plan->method];
	return QS_OK;
}

/* Do both collections have keys of one kind? */
static bool
same_keys(const qi_collection *a, const qi_collection *b)
{
	if (a->sets == 0 || b->sets == 0)
		return true;
	return a->wide == b->wide && qs_keys_same(&a->keys, &b->keys);
}

uint64_t
qi_memory_enough(const qi_request *r)
{
	uint64_t bytes = qi_collection_memory(r->rows);

	if (r->columns)
		bytes += qi_collection_memory(r->columns);
	return ENOUGH_SHARE * bytes + ENOUGH_HEAD;
}

qs_status
qi_prepare(qi_preparation *p, const qi_request *request)
{
	qs_status status;
	bool prefixes;
	sums s;

	memset(p, 0, sizeof(*p));
	p->request = *request;
	p->column.collection = request->columns ? request->columns : request->rows;
	p->row.collection = request->rows;
	p->plan.tail = qi_within_one(request) && !request->directed && request->filter.top == 0;
	if (request->method < QI_AUTO || request->method >= QI_METHODS)
		return QS_BAD_METHOD;
	if (p->column.collection->sets > QI_MAX_SETS || request->rows->sets > QI_MAX_SETS)
		return QS_TOO_MANY;
	if (!same_keys(p->column.collection, request->rows))
		return QS_MISMATCH;
	status = qi_measure(p);
	if (status != QS_OK)
		return status;
	s = sums_of(p);
	choose_heavy(p);
	cost_pairwise(p, &s);
	cost_index(p, &s);
	status = prefixes_promise(p, &s, &prefixes);
	if (status == QS_OK && prefixes)
		status = qi_make_prefixes(p);
	if (status != QS_OK)
		return status;
	if (prefixes)
		cost_prefixes(p, &s);
	limit_memory(p);
	return choose_method(p);
}

static void
free_side(qi_side *s, const qs_memory *memory)
{
	qi_release(memory, s->kept);
	qi_release(memory, s->prefix_offset);
	qi_release(memory, s->prefix);
}

void
qi_prepared_free(qi_preparation *p)
{
	const qs_memory *memory = p->request.memory;

	if (p->request.columns)
		free_side(&p->row, memory);
	free_side(&p->column, memory);
	if (p->row_degree != p->degree)
		qi_release(memory, p->row_degree);
	qi_release(memory, p->degree);
	qi_release(memory, p->bin);
	qi_release(memory, p->map);
	qi_release(memory, p->rarity);
	qi_release(memory, p->prefix_degree);
	qi_release(memory, p->buffer);
}
