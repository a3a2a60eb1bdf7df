/*
 * collection.c
 *		A collection of sets in memory.
 *
 * src/sets/collection.c
 */
#include "sets/collection.h"

qb_status
qset_collection_alloc(qset_collection *c, const qb_memory *memory)
{
	c->memory = memory;
	c->id = qset_alloc(memory, c->sets, sizeof(*c->id));
	c->offset = qset_alloc(memory, c->sets + 1, sizeof(*c->offset));
	c->rank = qset_alloc(memory, c->elements, sizeof(*c->rank));
	c->low = qset_alloc(memory, c->universe, sizeof(*c->low));
	c->high = c->wide ? qset_alloc(memory, c->universe, sizeof(*c->high)) : NULL;
	if (c->id && c->offset && c->rank && c->low && (c->high || !c->wide))
		return QB_OK;
	qset_collection_free(c);
	return QB_NO_MEMORY;
}

void
qset_collection_free(qset_collection *c)
{
	qset_release(c->memory, c->id);
	qset_release(c->memory, c->offset);
	qset_release(c->memory, c->rank);
	qset_release(c->memory, c->low);
	qset_release(c->memory, c->high);
	c->id = NULL;
	c->offset = NULL;
	c->rank = NULL;
	c->low = NULL;
	c->high = NULL;
}

qb_status
qset_collection_copy(qset_collection *to, const qset_collection *from, const qb_memory *memory)
{
	qb_status status;

	*to = *from;
	status = qset_collection_alloc(to, memory);
	if (status != QB_OK)
		return status;
	memcpy(to->id, from->id, from->sets * sizeof(*to->id));
	memcpy(to->offset, from->offset, (from->sets + 1) * sizeof(*to->offset));
	memcpy(to->rank, from->rank, from->elements * sizeof(*to->rank));
	memcpy(to->low, from->low, from->universe * sizeof(*to->low));
	if (from->wide)
		memcpy(to->high, from->high, from->universe * sizeof(*to->high));
	return QB_OK;
}

qb_status
qset_collection_sort(qset_collection *c, const qb_memory *memory)
{
	uint64_t most = 0;
	uint64_t kept = 0;
	uint64_t steps = 0;
	uint64_t begin = 0;
	uint64_t set;
	uint32_t *scratch;

	for (set = 0; set < c->sets; set++)
		if (c->offset[set + 1] - c->offset[set] > most)
			most = c->offset[set + 1] - c->offset[set];
	scratch = qset_alloc(memory, most, sizeof(*scratch));
	if (!scratch)
		return QB_NO_MEMORY;
	for (set = 0; set < c->sets; set++)
	{
		uint64_t end = c->offset[set + 1];
		uint64_t count = end - begin;

		qb_pause_after(memory, &steps, 8 * count);
		qset_sort_unique32((int32_t *) c->rank + begin, &count, (int32_t *) scratch, memory);
		memmove(c->rank + kept, c->rank + begin, count * sizeof(*c->rank));
		kept += count;
		begin = end;
		c->offset[set + 1] = kept;
	}
	c->elements = kept;
	qset_release(memory, scratch);
	return QB_OK;
}

uint64_t
qset_collection_memory(const qset_collection *c)
{
	return c->sets * sizeof(*c->id) + (c->sets + 1) * sizeof(*c->offset) +
		   c->elements * sizeof(*c->rank) + c->universe * sizeof(*c->low) * (c->wide ? 2 : 1);
}

int64_t
qset_collection_find(const qset_collection *c, int64_t id)
{
	uint64_t at = qset_lower(c->id, 0, c->sets, id);

	return at < c->sets && c->id[at] == id ? (int64_t) at : -1;
}

uint64_t
qset_collection_lower(const qset_collection *c, uint64_t low, uint64_t high)
{
	qset_collection wanted = { .wide = c->wide, .low = &low, .high = &high };
	uint64_t first = 0;
	uint64_t end = c->universe;

	while (first < end)
	{
		uint64_t middle = first + (end - first) / 2;

		if (qset_element_compare(c, middle, &wanted, 0) < 0)
			first = middle + 1;
		else
			end = middle;
	}
	return first;
}

int64_t
qset_collection_rank(const qset_collection *c, uint64_t low, uint64_t high)
{
	uint64_t at = qset_collection_lower(c, low, high);

	return at < c->universe && c->low[at] == low && (!c->wide || c->high[at] == high) ? (int64_t) at
																					  : -1;
}

qb_status
qset_collection_map(const qset_collection *from, const qset_collection *to, uint32_t *map)
{
	uint64_t i;
	uint64_t j = 0;

	if (!qset_collections_match(from, to))
		return QB_MISMATCH;
	for (i = 0; i < from->universe; i++)
	{
		while (j < to->universe && qset_element_compare(to, j, from, i) < 0)
			j++;
		map[i] = j < to->universe && qset_element_compare(to, j, from, i) == 0 ? (uint32_t) j
																			   : UINT32_MAX;
	}
	return QB_OK;
}

/* The cost of finding a set by its id, in steps. */
#define FIND_STEPS 64

/*
 * Find the sets with these ids, which are distinct and ascending.  Writes the numbers of the found
 * sets to the begin of id[], marks the sets' elements in used[], and counts sets and elements.
 */
static void
measure_subset(qset_collection *to, const qset_collection *from, int64_t *id, uint64_t ids,
			   uint32_t *used, const qb_memory *memory)
{
	uint64_t steps = 0;
	uint64_t i;
	uint64_t e;

	for (i = 0; i < ids; i++)
	{
		int64_t set = qset_collection_find(from, id[i]);

		qb_pause_after(memory, &steps, FIND_STEPS);
		if (set < 0)
			continue;
		id[to->sets++] = set;
		to->elements += qset_set_size(from, (uint64_t) set);
		for (e = from->offset[set]; e < from->offset[set + 1]; e++)
			used[from->rank[e]] = 1;
		qb_pause_after(memory, &steps, qset_set_size(from, (uint64_t) set));
	}
	for (i = 0; i < from->universe; i++)
		to->universe += used[i];
}

/* Copy the sets that number[] names.  used[] becomes the rank of each element in the copy. */
static void
copy_subset(qset_collection *to, const qset_collection *from, const int64_t *number, uint32_t *used)
{
	uint64_t steps = 0;
	uint64_t rank = 0;
	uint64_t i;
	uint64_t e;

	for (i = 0; i < from->universe; i++)
	{
		if (!used[i])
			continue;
		to->low[rank] = from->low[i];
		if (to->wide)
			to->high[rank] = from->high[i];
		used[i] = (uint32_t) rank++;
	}
	for (i = 0; i < to->sets; i++)
	{
		uint64_t at = to->offset[i];

		for (e = from->offset[number[i]]; e < from->offset[number[i] + 1]; e++)
			to->rank[at++] = used[from->rank[e]];
		to->id[i] = from->id[number[i]];
		qb_pause_after(to->memory, &steps, at - to->offset[i] + 1);
		to->offset[i + 1] = at;
	}
}

qb_status
qset_collection_subset(qset_collection *to, const qset_collection *from, const int64_t *id,
					   uint64_t ids, const qb_memory *memory)
{
	uint32_t *used = qset_alloc(memory, from->universe, sizeof(*used));
	int64_t *chosen = qset_alloc(memory, ids, sizeof(*chosen));
	int64_t *scratch = qset_alloc(memory, ids, sizeof(*scratch));
	qb_status status = QB_NO_MEMORY;

	*to = (qset_collection){ .keys = from->keys, .wide = from->wide };
	if (used && chosen && scratch)
	{
		qset_put(chosen, id, ids, sizeof(*chosen));
		qset_sort_unique64(chosen, &ids, scratch, memory);
		measure_subset(to, from, chosen, ids, used, memory);
		status = qset_collection_alloc(to, memory);
	}
	if (status == QB_OK)
		copy_subset(to, from, chosen, used);
	qset_release(memory, used);
	qset_release(memory, chosen);
	qset_release(memory, scratch);
	return status;
}

qb_status
qset_collection_join(const qset_collection *a, const qset_collection *b, uint32_t *number_a,
					 uint32_t *number_b, uint64_t *numbers)
{
	uint64_t i = 0;
	uint64_t j = 0;

	if (!qset_collections_match(a, b))
		return QB_MISMATCH;
	for (*numbers = 0; i < a->universe || j < b->universe; ++*numbers)
	{
		int order = i == a->universe ? 1 : j == b->universe ? -1 : qset_element_compare(a, i, b, j);

		if (order <= 0)
			number_a[i++] = (uint32_t) *numbers;
		if (order >= 0)
			number_b[j++] = (uint32_t) *numbers;
	}
	return QB_OK;
}
