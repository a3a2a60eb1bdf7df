/*
 * sets_prefix.c
 *		The common code of AllPairs and PPJoin.
 *
 * bench/sets_prefix.c
 */
#include "sets_prefix.h"

#include "base/hash.h"

/* ---- found pairs ---- */

uint64_t
sum_of_pairs(const qset_pair *pair, uint64_t count)
{
	uint64_t sum = 0;
	uint64_t i;

	for (i = 0; i < count; i++)
		sum += qb_mix64(qb_mix64((uint64_t) pair[i].a << 32 | pair[i].b) +
						((uint64_t) pair[i].common << 32 | pair[i].either));
	return sum;
}

void
flush_pairs(pair_sink *sink)
{
	if (sink->summing)
		sink->sum += sum_of_pairs(sink->pair, sink->filled);
	sink->pairs += sink->filled;
	sink->filled = 0;
}

static void
take_pair(pair_sink *sink, uint32_t a, uint32_t b, uint64_t common, uint64_t either)
{
	qset_pair pair = { a < b ? a : b, a < b ? b : a, (uint32_t) common, (uint32_t) either };

	if (sink->filled == SINK_ROOM)
		flush_pairs(sink);
	sink->pair[sink->filled++] = pair;
}

/* ---- order ---- */

static void *
zeroed(uint64_t count, size_t size)
{
	void *p = calloc(count + 1, size);

	require(p != NULL, "out of memory");
	return p;
}

/* Sort the numbers i = 0 .. count - 1 by key[i], then by i: a counting sort, for small keys. */
static uint32_t *
sorted_by(const uint32_t *key, uint64_t count, uint64_t most)
{
	uint64_t *start = zeroed(most + 1, sizeof(*start));
	uint32_t *sorted = zeroed(count, sizeof(*sorted));
	uint64_t i;

	for (i = 0; i < count; i++)
		start[key[i] + 1]++;
	for (i = 0; i < most; i++)
		start[i + 1] += start[i];
	for (i = 0; i < count; i++)
		sorted[start[key[i]]++] = (uint32_t) i;
	free(start);
	return sorted;
}

static void
order_sets(prefix_join *j, const qset_collection *c)
{
	uint32_t *size = zeroed(c->sets, sizeof(*size));
	uint64_t most = 0;
	uint64_t s;

	for (s = 0; s < c->sets; s++)
	{
		size[s] = qset_set_size(c, s);
		most = size[s] > most ? size[s] : most;
	}
	j->sets = c->sets;
	j->set = sorted_by(size, c->sets, most);
	j->offset = zeroed(c->sets, sizeof(*j->offset));
	j->required = zeroed(most, sizeof(*j->required));
	for (s = 0; s < c->sets; s++)
		j->offset[s + 1] = j->offset[s] + size[j->set[s]];
	free(size);
}

/*
 * Sort the elements of all sets by rarity without comparisons: make the list of sets of each
 * element, then append each element to its sets, from the rarest element on.
 */
static void
order_items(prefix_join *j, const qset_collection *c)
{
	uint32_t *degree = zeroed(c->universe, sizeof(*degree));
	uint64_t *start = zeroed(c->universe + 1, sizeof(*start));
	uint32_t *owner = zeroed(c->elements, sizeof(*owner));
	uint64_t *next = zeroed(c->sets, sizeof(*next));
	uint32_t *by_rarity;
	uint64_t i;
	uint64_t s;

	for (i = 0; i < c->elements; i++)
		degree[c->rank[i]]++;
	by_rarity = sorted_by(degree, c->universe, c->sets);
	for (i = 0; i < c->universe; i++)
		start[i + 1] = start[i] + degree[i];
	for (s = 0; s < c->sets; s++)
		for (i = c->offset[j->set[s]]; i < c->offset[j->set[s] + 1]; i++)
			owner[start[c->rank[i] + 1] - degree[c->rank[i]]--] = (uint32_t) s;
	memcpy(next, j->offset, c->sets * sizeof(*next));
	j->item = zeroed(c->elements, sizeof(*j->item));
	for (i = 0; i < c->universe; i++)
		for (s = start[by_rarity[i]]; s < start[by_rarity[i] + 1]; s++)
			j->item[next[owner[s]]++] = (uint32_t) i;
	free(degree);
	free(start);
	free(owner);
	free(next);
	free(by_rarity);
}

/* ---- prefixes ---- */

static uint64_t
required(const qset_filter *f, uint64_t x, uint64_t y)
{
	uint64_t whole = f->numerator + f->denominator;

	return (f->numerator * (x + y) + whole - 1) / whole;
}

/* Return how many of a set's first elements the index needs.  No later set is smaller. */
static uint64_t
indexed(const prefix_join *j, uint64_t set)
{
	uint64_t size = prefix_size(j, set);

	return size - required(&j->filter, size, size) + 1;
}

/* Set the begin of each element's list, and allocate the lists. */
static void
set_list_starts(prefix_join *j, uint64_t universe)
{
	uint64_t at = 0;
	uint64_t s;
	uint64_t i;

	for (s = 0; s < j->sets; s++)
		for (i = 0; i < indexed(j, s); i++)
			j->end[j->item[j->offset[s] + i]]++;
	for (i = 0; i < universe; i++)
	{
		uint64_t length = j->end[i];

		j->begin[i] = j->end[i] = at;
		at += length;
	}
	j->list = zeroed(at, sizeof(*j->list));
	if (j->position)
	{
		free(j->position);
		j->position = zeroed(at, sizeof(*j->position));
	}
}

void
prefix_open(prefix_join *j, const qset_collection *c, double min_jaccard, bool positions)
{
	memset(j, 0, sizeof(*j));
	require(qset_filter_init(&j->filter, 1, min_jaccard, 0) == QB_OK, "bad filter");
	require(min_jaccard > 0 && j->filter.denominator < 1 << 20, "no simple fraction");
	order_sets(j, c);
	order_items(j, c);
	j->begin = zeroed(c->universe, sizeof(*j->begin));
	j->end = zeroed(c->universe, sizeof(*j->end));
	j->position = positions ? zeroed(0, sizeof(*j->position)) : NULL;
	set_list_starts(j, c->universe);
	j->common = zeroed(j->sets, sizeof(*j->common));
	j->candidate = zeroed(j->sets, sizeof(*j->candidate));
}

void
prefix_close(prefix_join *j)
{
	free(j->set);
	free(j->offset);
	free(j->item);
	free(j->required);
	free(j->begin);
	free(j->end);
	free(j->list);
	free(j->position);
	free(j->common);
	free(j->candidate);
}

uint64_t
prefix_begin(prefix_join *j, uint64_t x)
{
	uint64_t size = prefix_size(j, x);
	uint64_t y;

	if (size != j->x_size)
	{
		j->x_size = size;
		j->least = qset_filter_least(&j->filter, size);
		for (y = j->least; y <= size; y++)
			j->required[y] = (uint32_t) required(&j->filter, size, y);
	}
	return size - j->least + 1;
}

void
prefix_enter(prefix_join *j, uint64_t x)
{
	uint64_t count = indexed(j, x);
	uint64_t i;

	for (i = 0; i < count; i++)
	{
		uint64_t at = j->end[j->item[j->offset[x] + i]]++;

		j->list[at] = (uint32_t) x;
		if (j->position)
			j->position[at] = (uint32_t) i;
	}
}

/* ---- verification ---- */

/*
 * Merge a and b.  Returns "common" plus the number of common elements of a and b, or 0 if this sum
 * is less than "needed".
 */
static uint64_t
merge_at_least(const uint32_t *a, const uint32_t *a_end, const uint32_t *b, const uint32_t *b_end,
			   uint64_t common, uint64_t needed)
{
	while (a < a_end && b < b_end)
	{
		if (*a == *b)
		{
			common++;
			a++;
			b++;
		}
		else if (*a < *b)
		{
			if (common + (uint64_t) (a_end - ++a) < needed)
				return 0;
		}
		else if (common + (uint64_t) (b_end - ++b) < needed)
			return 0;
	}
	return common >= needed ? common : 0;
}

/*
 * Count the common elements behind the prefixes.  The prefix that ends with the rarer element was
 * compared completely, so its set is merged from the end of the prefix on.  The other set is merged
 * from element common[y] on, because at least this number of its elements is counted.
 */
void
prefix_verify(const prefix_join *j, uint64_t x, uint32_t y, pair_sink *sink)
{
	const uint32_t *a = j->item + j->offset[x];
	const uint32_t *b = j->item + j->offset[y];
	uint64_t a_size = prefix_size(j, x);
	uint64_t b_size = prefix_size(j, y);
	uint64_t a_prefix = a_size - j->least + 1;
	uint64_t b_prefix = indexed(j, y);
	uint64_t found = j->common[y];
	bool first = a[a_prefix - 1] < b[b_prefix - 1];
	uint64_t common =
		merge_at_least(a + (first ? a_prefix : found), a + a_size, b + (first ? found : b_prefix),
					   b + b_size, found, j->required[b_size]);

	if (common > 0)
		take_pair(sink, j->set[x], j->set[y], common, a_size + b_size - common);
}
