/*
 * measure.c
 *		All pairs: measures the input, and makes the prefixes of its sets.
 *
 * The following counts are exact: the number of sets that can be in a pair, the degree of each
 * element, and the number of steps of an index.  The degree of an element is the number of these
 * sets that have the element.  The degrees determine the number of steps.  Counting reads each
 * element once.  The steps of prefixes can be counted only after the prefixes are made.  So plan.c
 * makes prefixes only if the request demands prefixes, or if prefixes are likely to be the fastest
 * method.
 *
 * src/sets/measure.c
 */
#include "sets/block.h"

/* ---- measuring ---- */

/* Find the sets that are large enough to be in a pair. */
static qb_status
keep_sets(qset_side *s, const qset_request *r)
{
	uint64_t least = qset_filter_passes_nothing(&r->filter) ? 0 : 1;
	uint64_t i;

	if (least < r->filter.min_count)
		least = r->filter.min_count;
	s->kept = qset_alloc(r->memory, s->collection->sets, sizeof(*s->kept));
	if (!s->kept)
		return QB_NO_MEMORY;
	for (i = 0; i < s->collection->sets; i++)
	{
		uint64_t size = qset_set_size(s->collection, i);

		if (size < least)
			continue;
		s->kept[s->sets++] = (uint32_t) i;
		s->signature_words += UINT64_C(1) << qset_signature_level(size);
		if (size > s->largest)
			s->largest = size;
	}
	return QB_OK;
}

static void
count_degrees(qset_side *s, const qset_request *r, uint32_t *degree)
{
	uint64_t steps = 0;
	uint64_t i;
	uint64_t e;

	for (i = 0; i < s->sets; i++)
	{
		const uint32_t *rank = qset_set_ranks(s->collection, s->kept[i]);
		uint64_t size = qset_set_size(s->collection, s->kept[i]);

		for (e = 0; e < size; e++)
		{
			uint32_t element = s->map ? s->map[rank[e]] : rank[e];

			if (element == UINT32_MAX)
				continue;
			degree[element]++;
			s->elements++;
		}
		qb_pause_after(r->memory, &steps, size);
	}
}

static qb_status
measure_columns(qset_preparation *p)
{
	const qset_request *r = &p->request;
	qset_side *c = &p->column;
	qb_status status = keep_sets(c, r);

	if (status != QB_OK)
		return status;
	p->degree = qset_alloc(r->memory, c->collection->universe, sizeof(*p->degree));
	if (!p->degree)
		return QB_NO_MEMORY;
	count_degrees(c, r, p->degree);
	return QB_OK;
}

static qb_status
measure_rows(qset_preparation *p)
{
	const qset_request *r = &p->request;
	const qset_collection *columns = p->column.collection;
	qb_status status;

	if (qset_within_one(r))
	{
		p->row = p->column;
		p->row_degree = p->degree;
		return QB_OK;
	}
	status = keep_sets(&p->row, r);
	if (status != QB_OK)
		return status;
	p->map = qset_alloc(r->memory, r->rows->universe, sizeof(*p->map));
	p->row_degree = qset_alloc(r->memory, columns->universe, sizeof(*p->row_degree));
	if (!p->map || !p->row_degree)
		return QB_NO_MEMORY;
	status = qset_collection_map(r->rows, columns, p->map);
	if (status != QB_OK)
		return status;
	p->row.map = p->map;
	count_degrees(&p->row, r, p->row_degree);
	return QB_OK;
}

static qb_status
count_bins(qset_preparation *p)
{
	uint64_t i;

	p->bin = qset_alloc(p->request.memory, p->column.sets + 1, sizeof(*p->bin));
	if (!p->bin)
		return QB_NO_MEMORY;
	for (i = 0; i < p->column.collection->universe; i++)
	{
		qset_bin *bin = &p->bin[p->degree[i]];

		qset_pause_at(p->request.memory, i);
		bin->elements++;
		bin->occurrences += p->row_degree[i];
	}
	return QB_OK;
}

uint64_t
qset_events_below(const qset_preparation *p, uint64_t bound)
{
	uint64_t events = 0;
	uint64_t d;

	for (d = 1; d <= p->column.sets && d < bound; d++)
		events += p->plan.tail ? p->bin[d].elements * (d * (d - 1) / 2) : p->bin[d].occurrences * d;
	return events;
}

/* ---- prefixes ---- */

/* Prefixes up to this length are selected; longer prefixes are cut from the sorted set. */
#define MOST_SELECTED 8

/*
 * Return the length of the prefix of a set of this size.  Prefix filtering: let two sets have at
 * least t elements in common.  In any order of elements, the first |A| - t + 1 elements of A and
 * the first |B| - t + 1 of B then have a common element.  In the order of rarity a prefix has the
 * shortest lists.
 */
static uint64_t
prefix_length(const qset_preparation *p, uint64_t size)
{
	uint64_t least = qset_filter_least(&p->request.filter, size);

	return least <= size ? size - least + 1 : 0;
}

/* Number the elements in the order of rarity, with a counting sort of their degrees. */
static qb_status
order_by_rarity(qset_preparation *p)
{
	const qb_memory *memory = p->request.memory;
	uint64_t universe = p->column.collection->universe;
	uint64_t *start;
	uint64_t i;

	start = qset_alloc(memory, p->column.sets + 2, sizeof(*start));
	p->rarity = qset_alloc(memory, universe, sizeof(*p->rarity));
	p->prefix_degree = qset_alloc(memory, universe, sizeof(*p->prefix_degree));
	for (i = 0; start && i <= p->column.sets; i++)
		start[i + 1] = start[i] + p->bin[i].elements;
	for (i = 0; start && p->rarity && i < universe; i++)
		p->rarity[i] = (uint32_t) start[p->degree[i]]++;
	qset_release(memory, start);
	return start && p->rarity && p->prefix_degree ? QB_OK : QB_NO_MEMORY;
}

/*
 * Write the least "length" of n different numbers to "out", in ascending order, by insertion.
 * Insertion is fast if "length" is small, since most numbers are greater than all selected numbers.
 */
static void
select_least(const uint32_t *item, uint64_t n, uint64_t length, uint32_t *out)
{
	uint64_t kept = 0;
	uint64_t i;

	for (i = 0; i < n; i++)
	{
		uint64_t at = kept;

		if (kept == length && item[i] > out[kept - 1])
			continue;
		if (kept == length)
			at--;
		else
			kept++;
		for (; at > 0 && out[at - 1] > item[i]; at--)
			out[at] = out[at - 1];
		out[at] = item[i];
	}
}

/*
 * Return the number of elements that at most one set has.  These elements have the least numbers by
 * rarity.  Returns 0 for pairs between two collections.
 */
static uint32_t
lonely_elements(const qset_preparation *p)
{
	if (!qset_within_one(&p->request))
		return 0;
	return (uint32_t) (p->bin[0].elements + p->bin[1].elements);
}

/*
 * Write the elements of a set's prefix that may have a list, and return their number.  An element
 * has no list if the columns' collection lacks it or, within one collection, if no other set has
 * it.  Elements without a list are rarer than all other elements, so a prefix begins with them.
 */
static uint64_t
take_prefix(const qset_preparation *p, const qset_side *s, uint64_t i, uint32_t *out)
{
	uint32_t *item = (uint32_t *) p->buffer;
	uint32_t lonely = lonely_elements(p);
	uint64_t count;
	const uint32_t *element = qset_side_elements(p, s, i, &count);
	uint64_t size = qset_set_size(s->collection, s->kept[i]);
	uint64_t length = prefix_length(p, size);
	uint64_t items = 0;
	uint64_t e;

	for (e = 0; e < count; e++)
	{
		item[items] = p->rarity[element[e]];
		items += item[items] >= lonely;
	}
	length = length > size - items ? length - (size - items) : 0;
	if (length > items)
		length = items;
	if (length > 0 && length <= MOST_SELECTED)
		select_least(item, items, length, out);
	else if (length > 0)
	{
		qset_sort_unique32((int32_t *) item, &items, (int32_t *) item + s->largest, NULL);
		memcpy(out, item, length * sizeof(*out));
	}
	return length;
}

/* Return an upper bound of the number of elements in all prefixes of one side. */
static uint64_t
prefix_room(const qset_preparation *p, const qset_side *s)
{
	uint64_t room = 0;
	uint64_t i;

	for (i = 0; i < s->sets; i++)
		room += prefix_length(p, qset_set_size(s->collection, s->kept[i]));
	return room;
}

static qb_status
take_prefixes(const qset_preparation *p, qset_side *s)
{
	const qb_memory *memory = p->request.memory;
	uint64_t steps = 0;
	uint64_t at = 0;
	uint64_t i;

	s->prefix_offset = qset_alloc(memory, s->sets + 1, sizeof(*s->prefix_offset));
	s->prefix = qset_alloc(memory, prefix_room(p, s), sizeof(*s->prefix));
	if (!s->prefix_offset || !s->prefix)
		return QB_NO_MEMORY;
	for (i = 0; i < s->sets; i++)
	{
		at += take_prefix(p, s, i, s->prefix + at);
		s->prefix_offset[i + 1] = at;
		qb_pause_after(memory, &steps, UINT64_C(16) * qset_set_size(s->collection, s->kept[i]));
	}
	s->prefix_elements = at;
	return QB_OK;
}

/* Return, over all rows and columns, the number of pairs of equal elements in their prefixes. */
static uint64_t
prefix_events(const qset_preparation *p)
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

qb_status
qset_make_prefixes(qset_preparation *p)
{
	qb_status status = order_by_rarity(p);
	uint64_t i;

	if (status == QB_OK)
		status = take_prefixes(p, &p->column);
	if (status == QB_OK && qset_within_one(&p->request))
		p->row = p->column;
	else if (status == QB_OK)
		status = take_prefixes(p, &p->row);
	if (status != QB_OK)
		return status;
	for (i = 0; i < p->column.prefix_elements; i++)
		p->prefix_degree[p->column.prefix[i]]++;
	p->plan.prefix_events = prefix_events(p);
	return QB_OK;
}

void
qset_expect_prefixes(const qset_preparation *p, double *entered, double *events)
{
	bool within = qset_within_one(&p->request);
	uint64_t lonely = within ? p->bin[1].elements : 0;
	uint64_t left = prefix_room(p, &p->row);
	uint64_t d;

	left -= left < lonely ? left : lonely;
	*entered = (double) (left + (within ? left : prefix_room(p, &p->column)));
	*events = 0;
	for (d = within ? 2 : 1; left > 0 && d <= p->column.sets; d++)
	{
		uint64_t taken = p->bin[d].occurrences < left ? p->bin[d].occurrences : left;

		*events += (double) taken * (p->plan.tail ? (double) (d - 1) / 2 : (double) d);
		left -= taken;
	}
}

qb_status
qset_measure(qset_preparation *p)
{
	qset_plan *plan = &p->plan;
	qb_status status = measure_columns(p);

	if (status == QB_OK)
		status = measure_rows(p);
	if (status == QB_OK)
		status = count_bins(p);
	if (status != QB_OK)
		return status;
	p->buffer =
		qset_alloc(p->request.memory, p->row.largest + p->column.largest + 1, 3 * sizeof(uint32_t));
	if (!p->buffer)
		return QB_NO_MEMORY;
	plan->rows = p->row.sets;
	plan->columns = p->column.sets;
	plan->row_elements = p->row.elements;
	plan->column_elements = p->column.elements;
	plan->universe = p->column.collection->universe;
	plan->events = qset_events_below(p, UINT64_MAX);
	plan->prefix_events = UINT64_MAX;
	return QB_OK;
}
