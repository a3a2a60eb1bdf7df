/*
 * peers_list.c
 *		Keys with their counts, for the structures that name keys.
 *
 * bench/peers_list.c
 */
#include <stdlib.h>
#include <string.h>

#include "peers_list.h"
#include "workload.h"

void
peer_list_init(peer_list *list, uint32_t room, bool errors)
{
	list->room = room;
	list->used = 0;
	list->key = bench_alloc(room, sizeof(*list->key));
	list->count = bench_alloc(room, sizeof(*list->count));
	list->error = errors ? bench_alloc(room, sizeof(*list->error)) : NULL;
	list->slot = bench_alloc(2 * (size_t) room, sizeof(*list->slot));
}

void
peer_list_free(peer_list *list)
{
	free(list->key);
	free(list->count);
	free(list->error);
	free(list->slot);
}

uint64_t
peer_list_bytes(const peer_list *list)
{
	return (uint64_t) list->room * (PEER_LIST_BYTES + (list->error ? PEER_ERROR_BYTES : 0));
}

/* ---- hash table, with linear probing ---- */

static uint32_t
home(const peer_list *list, uint64_t key)
{
	return (uint32_t) qb_reduce(qb_mix64(key + QB_ROW_STEP), 2 * (uint64_t) list->room);
}

static uint32_t
next_slot(const peer_list *list, uint32_t s)
{
	return s + 1 < 2 * list->room ? s + 1 : 0;
}

/* Return the slot of a key, or the free slot in which the key belongs. */
static uint32_t
slot_of(const peer_list *list, uint64_t key)
{
	uint32_t s = home(list, key);

	while (list->slot[s] && list->key[list->slot[s] - 1] != key)
		s = next_slot(list, s);
	return s;
}

/* Return the number of slots from "from" to "to". */
static uint32_t
distance(const peer_list *list, uint32_t from, uint32_t to)
{
	return to >= from ? to - from : to + 2 * list->room - from;
}

/* Free a slot, and move later keys of the same probe sequence forward. */
static void
free_slot(peer_list *list, uint32_t s)
{
	uint32_t hole = s;

	for (s = next_slot(list, s); list->slot[s]; s = next_slot(list, s))
		if (distance(list, home(list, list->key[list->slot[s] - 1]), s) >= distance(list, hole, s))
		{
			list->slot[hole] = list->slot[s];
			hole = s;
		}
	list->slot[hole] = 0;
}

/* ---- heap ---- */

static void
swap(peer_list *list, uint32_t i, uint32_t j)
{
	uint32_t slot_i = slot_of(list, list->key[i]);
	uint32_t slot_j = slot_of(list, list->key[j]);
	uint64_t key = list->key[i];
	uint32_t count = list->count[i];

	list->key[i] = list->key[j];
	list->key[j] = key;
	list->count[i] = list->count[j];
	list->count[j] = count;
	if (list->error)
	{
		uint32_t error = list->error[i];

		list->error[i] = list->error[j];
		list->error[j] = error;
	}
	list->slot[slot_i] = j + 1;
	list->slot[slot_j] = i + 1;
}

static void
sift_up(peer_list *list, uint32_t at)
{
	for (; at > 0 && list->count[at] < list->count[(at - 1) / 2]; at = (at - 1) / 2)
		swap(list, at, (at - 1) / 2);
}

static void
sift_down(peer_list *list, uint32_t at)
{
	uint32_t child;

	while ((child = 2 * at + 1) < list->used)
	{
		if (child + 1 < list->used && list->count[child + 1] < list->count[child])
			child++;
		if (list->count[at] <= list->count[child])
			return;
		swap(list, at, child);
		at = child;
	}
}

/* ---- the list ---- */

int64_t
peer_list_find(const peer_list *list, uint64_t key)
{
	return (int64_t) list->slot[slot_of(list, key)] - 1;
}

void
peer_list_set(peer_list *list, uint32_t at, uint32_t count)
{
	bool less = count < list->count[at];

	list->count[at] = count;
	if (less)
		sift_up(list, at);
	else
		sift_down(list, at);
}

void
peer_list_add(peer_list *list, uint64_t key, uint32_t count, uint32_t error)
{
	uint32_t at = list->used;

	list->slot[slot_of(list, key)] = at + 1;
	list->used++;
	list->key[at] = key;
	list->count[at] = count;
	if (list->error)
		list->error[at] = error;
	sift_up(list, at);
}

void
peer_list_drop_least(peer_list *list)
{
	if (list->used > 1)
		swap(list, 0, list->used - 1);
	free_slot(list, slot_of(list, list->key[list->used - 1]));
	list->used--;
	sift_down(list, 0);
}

void
peer_list_shrink(peer_list *list, uint32_t room)
{
	peer_list smaller;
	uint32_t i;

	while (list->used > room)
		peer_list_drop_least(list);
	peer_list_init(&smaller, room, list->error != NULL);
	for (i = 0; i < list->used; i++)
		peer_list_add(&smaller, list->key[i], list->count[i], list->error ? list->error[i] : 0);
	peer_list_free(list);
	*list = smaller;
}

/* ---- structures that are a list, or begin with a list ---- */

int64_t
peer_bare_estimate(const void *list, uint64_t key)
{
	int64_t at = peer_list_find(list, key);

	return at >= 0 ? ((const peer_list *) list)->count[at] : 0;
}

uint64_t
peer_bare_bytes(const void *list)
{
	return peer_list_bytes(list);
}

typedef struct written
{
	uint64_t key;
	uint32_t count;
	uint32_t error;
} written;

static int
smallest_first(const void *a, const void *b)
{
	const written *x = a;
	const written *y = b;

	if (x->count != y->count)
		return x->count < y->count ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

uint8_t *
peer_bare_write(void *bare, size_t *size)
{
	const peer_list *list = bare;
	uint32_t n = list->used;
	size_t numbers = list->error ? 2 : 1;
	written *sorted = bench_alloc(n, sizeof(*sorted));
	uint8_t *out;
	uint32_t i;

	for (i = 0; i < n; i++)
		sorted[i] = (written){ list->key[i], list->count[i], list->error ? list->error[i] : 0 };
	qsort(sorted, n, sizeof(*sorted), smallest_first);
	*size = n * (numbers * sizeof(uint32_t) + sizeof(uint64_t));
	out = bench_alloc(*size, 1);
	for (i = 0; i < n; i++)
	{
		memcpy(out + 4 * (size_t) i, &sorted[i].count, 4);
		if (list->error)
			memcpy(out + 4 * ((size_t) n + i), &sorted[i].error, 4);
		memcpy(out + 4 * numbers * n + 8 * (size_t) i, &sorted[i].key, 8);
	}
	free(sorted);
	return out;
}

void
peer_bare_free(void *list)
{
	peer_list_free(list);
	free(list);
}
