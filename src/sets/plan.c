/*
 * plan.c
 *		All pairs: measuring the input, and the choice of the method by cost.
 *
 * The costs are those of one processor, in ns, from counts that are exact (the
 * index's events, also with prefixes) and constants that make sets-bench
 * measures (docs/sets.md).  Only their ratios matter.
 *
 * src/sets/plan.c
 */
#include "sets/block.h"

/* ---- constants of the cost model, ns: AMD EPYC (Zen 4), 2026-11-22, while others worked ---- */

#define NS_EVENT     0.27 /* one increment of a counter */
#define NS_ENTRY     2.5  /* one element of a row: its list begins somewhere else */
#define NS_BUILD     8.0  /* one element put into the index */
#define NS_SCAN      0.03 /* one counter cleared and looked at */
#define NS_COLUMN    1.7  /* 512 bits added by sum_columns() */
#define NS_SPREAD    25.0 /* 512 counters made of them */
#define NS_CANDIDATE 2.0  /* one event of the index of prefixes */
#define NS_PAIR      12.0 /* beginning one pair */
#define NS_MERGE     0.35 /* one element of a merge */
#define NS_SEARCH    0.9  /* one step of a binary search */
#define NS_HASH      2.0  /* one probe of a hash table in the cache */
#define NS_PROBE     0.6  /* one probe of a bitmap in the cache */
#define NS_AND       1.4  /* 512 bits of two bitmaps */
#define NS_SORT      12.0 /* one element sorted by rarity */
#define NS_CUT       60.0 /* one cut of a merge path */

/* Columns of bits that take more than this leave the second-level cache. */
#define MOST_BITS (UINT64_C(4) << 20)

/* All bitmaps at once may take this, unless a limit is given or they are asked for. */
#define MOST_RESIDENT (UINT64_C(1) << 30)

static bool
within_one(const qi_request *r)
{
	return r->columns == NULL;
}

/* ---- measuring ---- */

/* Sets that can be part of a pair. */
static qs_status
keep_sets(qi_side *s, const qi_request *r)
{
	uint64_t least = qi_filter_passes_nothing(&r->filter) ? 0 : 1;
	uint64_t i;

	if (least < r->filter.min_count)
		least = r->filter.min_count;
	s->kept = qi_alloc(r->memory, s->collection->sets, sizeof(*s->kept));
	if (!s->kept)
		return QS_NO_MEMORY;
	for (i = 0; i < s->collection->sets; i++)
	{
		uint64_t size = qi_set_size(s->collection, i);

		if (size < least)
			continue;
		s->kept[s->sets++] = (uint32_t) i;
		if (size > s->largest)
			s->largest = size;
	}
	return QS_OK;
}

static qs_status
count_degrees(qi_side *s, const qi_request *r, uint32_t *degree)
{
	uint64_t asked = 0;
	uint64_t seen = 0;
	uint64_t i;
	uint64_t e;

	for (i = 0; i < s->sets; i++)
	{
		const uint32_t *rank = qi_set_ranks(s->collection, s->kept[i]);
		uint64_t size = qi_set_size(s->collection, s->kept[i]);

		for (e = 0; e < size; e++)
		{
			uint32_t element = s->map ? s->map[rank[e]] : rank[e];

			if (element == UINT32_MAX)
				continue;
			degree[element]++;
			s->elements++;
		}
		seen += size;
		if (seen - asked < QI_PATIENCE)
			continue;
		asked = seen;
		if (qi_stopped(r->interrupt))
			return QS_CANCELLED;
	}
	return QS_OK;
}

static qs_status
measure_columns(qi_preparation *p)
{
	const qi_request *r = &p->request;
	qi_side *c = &p->column;
	qs_status status = keep_sets(c, r);

	if (status != QS_OK)
		return status;
	p->degree = qi_alloc(r->memory, c->collection->universe, sizeof(*p->degree));
	if (!p->degree)
		return QS_NO_MEMORY;
	return count_degrees(c, r, p->degree);
}

static qs_status
measure_rows(qi_preparation *p)
{
	const qi_request *r = &p->request;
	const qi_collection *columns = p->column.collection;
	qs_status status;

	if (within_one(r))
	{
		p->row = p->column;
		p->row_degree = p->degree;
		return QS_OK;
	}
	status = keep_sets(&p->row, r);
	if (status != QS_OK)
		return status;
	p->map = qi_alloc(r->memory, r->rows->universe, sizeof(*p->map));
	p->row_degree = qi_alloc(r->memory, columns->universe, sizeof(*p->row_degree));
	if (!p->map || !p->row_degree)
		return QS_NO_MEMORY;
	qi_collection_map(r->rows, columns, p->map);
	p->row.map = p->map;
	return count_degrees(&p->row, r, p->row_degree);
}

static qs_status
count_bins(qi_preparation *p)
{
	uint64_t i;

	p->bin = qi_alloc(p->request.memory, p->column.sets + 1, sizeof(*p->bin));
	if (!p->bin)
		return QS_NO_MEMORY;
	for (i = 0; i < p->column.collection->universe; i++)
	{
		qi_bin *bin = &p->bin[p->degree[i]];

		if (i % QI_PATIENCE == 0 && qi_stopped(p->request.interrupt))
			return QS_CANCELLED;
		bin->elements++;
		bin->occurrences += p->row_degree[i];
	}
	return QS_OK;
}

/* Events of lists of the elements whose degree is below a bound. */
static uint64_t
events_below(const qi_preparation *p, uint64_t bound)
{
	uint64_t events = 0;
	uint64_t d;

	for (d = 1; d <= p->column.sets && d < bound; d++)
		events += p->plan.tail ? p->bin[d].elements * (d * (d - 1) / 2) : p->bin[d].occurrences * d;
	return events;
}

/* ---- prefixes ---- */

/*
 * Prefix filtering: two sets with at least t elements in common share one of
 * the first |A| - t + 1 of A and of the first |B| - t + 1 of B in any common
 * order.  In the order of rarity those have the shortest lists.
 */
static uint64_t
prefix_length(const qi_preparation *p, uint64_t size)
{
	uint64_t least = qi_filter_least(&p->request.filter, size);

	return least <= size ? size - least + 1 : 0;
}

/* Elements' numbers by rarity: a counting sort by degree. */
static qs_status
order_by_rarity(const qi_preparation *p, uint32_t *rarity)
{
	const qs_memory *memory = p->request.memory;
	uint64_t universe = p->column.collection->universe;
	uint64_t *place = qi_alloc(memory, p->column.sets + 2, sizeof(*place));
	uint64_t i;

	if (!place)
		return QS_NO_MEMORY;
	for (i = 0; i <= p->column.sets; i++)
		place[i + 1] = place[i] + p->bin[i].elements;
	for (i = 0; i < universe; i++)
		rarity[i] = (uint32_t) place[p->degree[i]]++;
	qi_release(memory, place);
	return QS_OK;
}

/*
 * The rarest elements of one set.  Elements that no column has are rarer still:
 * they take their part of the prefix, and no list.
 */
static uint64_t
take_prefix(const qi_preparation *p, const qi_side *s, uint64_t i, const uint32_t *rarity,
			uint32_t *out)
{
	uint32_t *item = (uint32_t *) p->buffer;
	uint64_t count;
	const uint32_t *element = qi_side_elements(p, s, i, &count);
	uint64_t size = qi_set_size(s->collection, s->kept[i]);
	uint64_t length = prefix_length(p, size);
	uint64_t absent = size - count;
	uint64_t e;

	for (e = 0; e < count; e++)
		item[e] = rarity[element[e]];
	qi_sort_unique32((int32_t *) item, &count, (int32_t *) item + s->largest, NULL);
	length = length > absent ? length - absent : 0;
	if (length > count)
		length = count;
	memcpy(out, item, length * sizeof(*out));
	return length;
}

/* Elements in all prefixes, an upper bound. */
static uint64_t
prefix_room(const qi_preparation *p, const qi_side *s)
{
	uint64_t room = 0;
	uint64_t i;

	for (i = 0; i < s->sets; i++)
		room += prefix_length(p, qi_set_size(s->collection, s->kept[i]));
	return room;
}

static qs_status
take_prefixes(const qi_preparation *p, qi_side *s, const uint32_t *rarity)
{
	const qs_memory *memory = p->request.memory;
	uint64_t asked = 0;
	uint64_t at = 0;
	uint64_t i;

	s->prefix_offset = qi_alloc(memory, s->sets + 1, sizeof(*s->prefix_offset));
	s->prefix = qi_alloc(memory, prefix_room(p, s), sizeof(*s->prefix));
	if (!s->prefix_offset || !s->prefix)
		return QS_NO_MEMORY;
	for (i = 0; i < s->sets; i++)
	{
		at += take_prefix(p, s, i, rarity, s->prefix + at);
		s->prefix_offset[i + 1] = at;
		asked += qi_set_size(s->collection, s->kept[i]);
		if (asked < QI_PATIENCE / 16)
			continue;
		asked = 0;
		if (qi_stopped(p->request.interrupt))
			return QS_CANCELLED;
	}
	s->prefix_elements = at;
	return QS_OK;
}

/* Events of the lists of prefixes. */
static uint64_t
prefix_events(const qi_preparation *p)
{
	uint64_t events = 0;
	uint64_t i;

	for (i = 0; p->plan.tail && i < p->column.collection->universe; i++)
	{
		uint64_t d = p->prefix_degree[i];

		events += d * (d - (d > 0)) / 2;
	}
	for (i = 0; !p->plan.tail && i < p->row.prefix_elements; i++)
		events += p->prefix_degree[p->row.prefix[i]];
	return events;
}

static qs_status
make_prefixes(qi_preparation *p)
{
	const qs_memory *memory = p->request.memory;
	uint64_t universe = p->column.collection->universe;
	uint32_t *rarity = qi_alloc(memory, universe, sizeof(*rarity));
	qs_status status;
	uint64_t i;

	p->prefix_degree = qi_alloc(memory, universe, sizeof(*p->prefix_degree));
	status = rarity && p->prefix_degree ? order_by_rarity(p, rarity) : QS_NO_MEMORY;
	if (status == QS_OK)
		status = take_prefixes(p, &p->column, rarity);
	if (status == QS_OK && within_one(&p->request))
		p->row = p->column;
	else if (status == QS_OK)
		status = take_prefixes(p, &p->row, rarity);
	qi_release(memory, rarity);
	if (status != QS_OK)
		return status;
	for (i = 0; i < p->column.prefix_elements; i++)
		p->prefix_degree[p->column.prefix[i]]++;
	p->plan.prefix_events = prefix_events(p);
	return QS_OK;
}

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
	double others;  /* elements of columns that all rows see, together */
	double row;     /* average elements of a row */
	double column;  /* and of a column */
	double element; /* average elements of both sides */
	double blocks;  /* of columns that a row sees, on average */
} sums;

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
	s.others = half * wanted * plan->column_elements;
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
	plan->light_events = events_below(p, bound);
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

static void
cost_pairwise(qi_preparation *p, const sums *s)
{
	double *cost = p->plan.cost;
	double small = s->row < s->column ? s->row : s->column;
	double large = s->row + s->column - small;
	double both = s->pairs * (s->row + s->column);
	double cuts = s->pairs * ((s->row + s->column) / QI_PIECE + 1) * NS_CUT;
	double words = (double) qi_bitmap_words(p->plan.universe);
	double dynamic = s->others * NS_PROBE + s->pairs * NS_PAIR / 4;
	double naive = s->pairs * (NS_PAIR / 4 + words / QI_BLOCK_WORDS * NS_AND);
	int variant = p->request.variant;

	cost[QI_MERGE] = s->pairs * NS_PAIR + both * NS_MERGE;
	cost[QI_SEARCH] = s->pairs * (NS_PAIR + small * (log2_of(large) + 1) * NS_SEARCH);
	cost[QI_MERGE_SEARCH] = cost[QI_SEARCH] + cuts;
	cost[QI_HASH] = s->pairs * NS_PAIR / 2 + s->others * NS_HASH;
	cost[QI_MERGE_HASH] = s->pairs * NS_PAIR + both * NS_HASH + cuts;
	p->plan.resident = variant == QI_VARIANT_ON || (variant == QI_VARIANT_AUTO && naive < dynamic);
	if (p->plan.resident && variant == QI_VARIANT_AUTO)
	{
		uint64_t limit = p->request.memory_limit ? p->request.memory_limit : MOST_RESIDENT;

		p->plan.resident = words * 8 * (p->plan.rows + p->plan.columns) < limit;
	}
	cost[QI_BITMAP] = p->plan.resident ? naive : dynamic;
}

static void
cost_index(qi_preparation *p, const sums *s)
{
	qi_plan *plan = &p->plan;
	double scan = s->pairs * NS_SCAN;
	double build = s->element * NS_BUILD;
	double entries = s->share * plan->row_elements;
	double heavy = heavy_entries(p) * s->share;
	double rows = s->share * plan->rows;

	plan->cost[QI_INDEX] = build + scan + entries * NS_ENTRY + s->share * plan->events * NS_EVENT;
	plan->cost[QI_HYBRID] = build + scan + (entries - heavy) * NS_ENTRY +
							s->share * plan->light_events * NS_EVENT +
							s->blocks * (heavy * NS_COLUMN + rows * NS_SPREAD);
}

/*
 * Are prefixes asked for, or so short that they may pay for being made?  To
 * know their events they must be made, so that must be little against the
 * cheapest method so far.
 */
static bool
prefixes_promise(const qi_preparation *p)
{
	const qi_request *r = &p->request;
	double cheapest = p->plan.cost[QI_INDEX];
	int method;

	if (qi_filter_passes_nothing(&r->filter) || r->variant == QI_VARIANT_OFF ||
		(r->method != QI_AUTO && r->method != QI_INDEX))
		return false;
	if (r->variant == QI_VARIANT_ON)
		return true;
	for (method = QI_MERGE; r->method == QI_AUTO && method < QI_METHODS; method++)
		if (p->plan.cost[method] < cheapest)
			cheapest = p->plan.cost[method];
	return r->rows_wanted == 0 && cheapest > (double) p->column.elements * NS_SORT * 2 &&
		   prefix_room(p, &p->column) < p->column.elements / 2;
}

/* The index of prefixes, which are made already. */
static void
cost_prefixes(qi_preparation *p, const sums *s)
{
	qi_plan *plan = &p->plan;
	/* a candidate may come several times; at most every pair is one */
	double candidates = s->share * (double) plan->prefix_events;
	double distinct = candidates < s->pairs ? candidates : s->pairs;
	double check = NS_PAIR + (s->row + s->column) * NS_MERGE;
	double cost = s->element * NS_BUILD / 2 + candidates * NS_CANDIDATE + distinct * check;

	plan->prefix = p->request.variant == QI_VARIANT_ON || cost < plan->cost[QI_INDEX];
	if (plan->prefix)
		plan->cost[QI_INDEX] = cost;
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

static qs_status
measure(qi_preparation *p)
{
	qi_plan *plan = &p->plan;
	qs_status status = measure_columns(p);

	if (status == QS_OK)
		status = measure_rows(p);
	if (status == QS_OK)
		status = count_bins(p);
	if (status != QS_OK)
		return status;
	p->buffer =
		qi_alloc(p->request.memory, p->row.largest + p->column.largest + 1, 3 * sizeof(uint32_t));
	if (!p->buffer)
		return QS_NO_MEMORY;
	plan->rows = p->row.sets;
	plan->columns = p->column.sets;
	plan->row_elements = p->row.elements;
	plan->column_elements = p->column.elements;
	plan->universe = p->column.collection->universe;
	plan->events = events_below(p, UINT64_MAX);
	plan->prefix_events = UINT64_MAX;
	return QS_OK;
}

/* Do both collections have keys of one kind? */
static bool
same_keys(const qi_collection *a, const qi_collection *b)
{
	if (a->sets == 0 || b->sets == 0)
		return true;
	return a->wide == b->wide && a->family == b->family && a->collation == b->collation;
}

qs_status
qi_prepare(qi_preparation *p, const qi_request *request)
{
	qs_status status;
	sums s;

	memset(p, 0, sizeof(*p));
	p->request = *request;
	p->column.collection = request->columns ? request->columns : request->rows;
	p->row.collection = request->rows;
	p->plan.tail = within_one(request) && !request->directed && request->filter.top == 0;
	if (request->method < QI_AUTO || request->method >= QI_METHODS)
		return QS_BAD_METHOD;
	if (p->column.collection->sets > QI_MAX_SETS || request->rows->sets > QI_MAX_SETS)
		return QS_TOO_MANY;
	if (!same_keys(p->column.collection, request->rows))
		return QS_MISMATCH;
	status = measure(p);
	if (status != QS_OK)
		return status;
	s = sums_of(p);
	choose_heavy(p);
	cost_pairwise(p, &s);
	cost_index(p, &s);
	if (prefixes_promise(p))
	{
		status = make_prefixes(p);
		if (status != QS_OK)
			return status;
		cost_prefixes(p, &s);
	}
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
	qi_release(memory, p->prefix_degree);
	qi_release(memory, p->buffer);
}
