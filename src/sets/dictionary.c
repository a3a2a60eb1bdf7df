/*
 * dictionary.c
 *		Codes of keys: numbers in the order in which keys first occur.
 *
 * src/sets/dictionary.c
 */
#include "sets/dictionary.h"

#include "base/slot.h"

/* The least number of slots of a table. */
#define FIRST_SLOTS 64

/*
 * Keys are dense if their range is at most SPARSEST times their number.  make_direct() counts every
 * repetition of a key.  A direct table has FIRST_SLOTS slots, or at most 2 * SPARSEST slots of 4
 * bytes for each counted key.
 */
#define SPARSEST 8

/* Direct tables with fewer slots than this fit into a cache and need no prefetch. */
#define FETCHED (UINT64_C(1) << 17)

/* The cost of putting a key into a large table, in steps: one or two cache misses. */
#define KEY_STEPS 16

/* A key to be sorted, and its code. */
typedef struct item
{
	uint64_t key;
	uint64_t code;
} item;

void
qset_dictionary_free(qset_dictionary *l, const qb_memory *memory)
{
	qset_release(memory, l->slot);
	qset_release(memory, l->direct);
	qset_release(memory, l->low);
	qset_release(memory, l->high);
	memset(l, 0, sizeof(*l));
}

uint64_t
qset_dictionary_memory(const qset_dictionary *l)
{
	return l->slots * sizeof(*l->slot) + l->span * sizeof(*l->direct) +
		   l->room * sizeof(*l->low) * (l->wide ? 2 : 1);
}

/* ---- slots ---- */

QB_INLINE uint64_t
first_slot(const qset_dictionary *l, uint64_t hash)
{
	return hash & (l->slots - 1);
}

/* Return the hash of a key; "high" is the upper half of a wide key. */
QB_INLINE uint64_t
hash_of(bool wide, uint64_t low, uint64_t high)
{
	return wide ? qb_slot_hash_wide(low, high) : qb_slot_hash(low);
}

/*
 * Make a hash table of "slots" slots with all codes.  The old table is released after the new table
 * is complete.
 */
static qb_status
make_slots(qset_dictionary *l, uint64_t slots, const qb_memory *memory)
{
	qset_dictionary made = { .slot = qset_alloc(memory, slots, sizeof(*made.slot)),
							 .slots = slots };
	uint64_t i;

	if (!made.slot)
		return QB_NO_MEMORY;
	for (i = 0; i < l->used; i++)
	{
		uint64_t at = first_slot(&made, hash_of(l->wide, l->low[i], l->wide ? l->high[i] : 0));

		qset_pause_at(memory, i * KEY_STEPS);
		while (made.slot[at].code != 0)
			at = (at + 1) & (slots - 1);
		made.slot[at] = (qset_slot){ l->low[i], (uint32_t) i + 1 };
	}
	qset_release(memory, l->slot);
	qset_release(memory, l->direct);
	l->direct = NULL;
	l->span = 0;
	l->slot = made.slot;
	l->slots = slots;
	return QB_OK;
}

/* Make a new code.  The arrays of keys must have space for it. */
QB_INLINE uint32_t
new_code(qset_dictionary *l, uint64_t low, uint64_t high)
{
	l->low[l->used] = low;
	if (l->wide)
		l->high[l->used] = high;
	return (uint32_t) l->used++;
}

static uint32_t
code_in_slots(qset_dictionary *l, uint64_t low, uint64_t high, uint64_t hash)
{
	uint64_t at = first_slot(l, hash);

	for (; l->slot[at].code != 0; at = (at + 1) & (l->slots - 1))
		if (l->slot[at].low == low && (!l->wide || l->high[l->slot[at].code - 1] == high))
			return l->slot[at].code - 1;
	l->slot[at].low = low;
	return (l->slot[at].code = new_code(l, low, high) + 1) - 1;
}

static void
look_up_in_slots(qset_dictionary *l, const uint64_t *low, const uint64_t *high, uint32_t n,
				 uint32_t *code)
{
	uint64_t hash[QSET_DICTIONARY_AT_ONCE];
	uint32_t i;

	for (i = 0; i < n; i++)
	{
		hash[i] = hash_of(l->wide, low[i], high ? high[i] : 0);
		__builtin_prefetch(&l->slot[first_slot(l, hash[i])]);
	}
	for (i = 0; i < n; i++)
	{
		bool again = i > 0 && low[i] == low[i - 1] && (!high || high[i] == high[i - 1]);

		code[i] = again ? code[i - 1] : code_in_slots(l, low[i], high ? high[i] : 0, hash[i]);
	}
}

/* ---- direct ---- */

static bool
in_range(const qset_dictionary *l, const uint64_t *low, uint32_t n)
{
	bool outside = false;
	uint32_t i;

	for (i = 0; i < n; i++)
		outside |= low[i] - l->base >= l->span;
	return !outside;
}

static void
widen(const uint64_t *key, uint64_t n, int64_t *least, int64_t *most)
{
	uint64_t i;

	for (i = 0; i < n; i++)
	{
		int64_t k = (int64_t) key[i];

		*least = k < *least ? k : *least;
		*most = k > *most ? k : *most;
	}
}

/*
 * Return the first key of a direct table of "span" slots for keys from "least" to "most".  "below":
 * the spare slots are below the keys, else above them.  The keys of all slots are numbers of 64
 * bits, so the slots are in the order of their keys.
 */
static int64_t
base_of(int64_t least, int64_t most, uint64_t span, bool below)
{
	int64_t spare = (int64_t) span - 1;

	if (below)
		return most < INT64_MIN + spare ? INT64_MIN : most - spare;
	return least > INT64_MAX - spare ? INT64_MAX - spare : least;
}

/*
 * Make a direct table of all keys and the n keys of "more" if these keys are dense.  If the keys
 * are sparse, change nothing.  The new table has spare slots below the keys if a key is less than
 * the base of the old table, else above the keys.  Ids usually grow, so the next few keys need no
 * new table.
 */
static qb_status
make_direct(qset_dictionary *l, const uint64_t *more, uint32_t n, const qb_memory *memory)
{
	int64_t least = (int64_t) more[0];
	int64_t most = least;
	uint64_t width;
	uint64_t span = FIRST_SLOTS;
	uint64_t base;
	uint32_t *direct;
	uint64_t i;

	widen(l->low, l->used, &least, &most);
	widen(more, n, &least, &most);
	width = (uint64_t) most - (uint64_t) least;
	if (width >= SPARSEST * (l->used + n))
		return QB_OK;
	while (span <= width)
		span *= 2;
	direct = qset_alloc(memory, span, sizeof(*direct));
	if (!direct)
		return QB_NO_MEMORY;
	base =
		(uint64_t) base_of(least, most, span, l->direct && (uint64_t) least - l->base >= l->span);
	for (i = 0; i < l->used; i++)
	{
		qset_pause_at(memory, i * KEY_STEPS);
		direct[l->low[i] - base] = (uint32_t) i + 1;
	}
	l->base = base;
	qset_release(memory, l->direct);
	qset_release(memory, l->slot);
	l->direct = direct;
	l->span = span;
	l->slot = NULL;
	l->slots = 0;
	return QB_OK;
}

static void
look_up_direct(qset_dictionary *l, const uint64_t *low, uint32_t n, uint32_t *code)
{
	uint32_t *direct = l->direct;
	uint64_t base = l->base;
	uint32_t i;

	for (i = 0; l->span >= FETCHED && i < n; i++)
		__builtin_prefetch(&direct[low[i] - base]);
	for (i = 0; i < n; i++)
	{
		uint32_t *slot = &direct[low[i] - base];

		if (*slot == 0)
			*slot = new_code(l, low[i], 0) + 1;
		code[i] = *slot - 1;
	}
}

/* ---- both layouts ---- */

/* Allocate space for the keys of "more" new codes. */
static qb_status
reserve_keys(qset_dictionary *l, uint64_t more, const qb_memory *memory)
{
	uint64_t room = l->room ? l->room * 2 : FIRST_SLOTS / 2;
	uint64_t *array;

	if (l->used + more <= l->room)
		return QB_OK;
	while (room < l->used + more)
		room *= 2;
	array = qset_grow(memory, l->low, l->used, room);
	if (!array)
		return QB_NO_MEMORY;
	l->low = array;
	if (l->wide)
	{
		array = qset_grow(memory, l->high, l->used, room);
		if (!array)
			return QB_NO_MEMORY;
		l->high = array;
	}
	l->room = room;
	return QB_OK;
}

/* Make sure that the table and the arrays of keys have space for these keys. */
static qb_status
reserve(qset_dictionary *l, const uint64_t *low, uint32_t n, const qb_memory *memory)
{
	uint64_t slots = FIRST_SLOTS;
	qb_status status = reserve_keys(l, n, memory);

	if (status != QB_OK)
		return status;
	if (l->direct ? in_range(l, low, n) : l->slots >= (l->used + n) * 2)
		return QB_OK;
	if (!l->wide)
	{
		status = make_direct(l, low, n, memory);
		if (status != QB_OK || (l->direct && in_range(l, low, n)))
			return status;
	}
	while (slots < (l->used + n) * 2)
		slots *= 2;
	return make_slots(l, slots, memory);
}

qb_status
qset_dictionary_of(qset_dictionary *l, const uint64_t *low, const uint64_t *high, uint32_t n,
				   uint32_t *code, const qb_memory *memory)
{
	qb_status status = n > 0 ? reserve(l, low, n, memory) : QB_OK;

	if (status != QB_OK)
		return status;
	if (l->direct)
		look_up_direct(l, low, n, code);
	else
		look_up_in_slots(l, low, high, n, code);
	return QB_OK;
}

qb_status
qset_dictionary_of_all(qset_dictionary *l, const uint64_t *low, const uint64_t *high, uint64_t n,
					   uint32_t *code, const qb_memory *memory)
{
	qb_status status = QB_OK;
	uint64_t i;

	for (i = 0; status == QB_OK && i < n; i += QSET_DICTIONARY_AT_ONCE)
	{
		qset_pause_at(memory, i);
		status = qset_dictionary_of(l, low + i, high ? high + i : NULL,
									n - i < QSET_DICTIONARY_AT_ONCE ? (uint32_t) (n - i)
																	: QSET_DICTIONARY_AT_ONCE,
									code + i, memory);
	}
	return status;
}

/* ---- order ---- */

/*
 * Sort by key with a stable radix sort from the lowest byte.  A byte that is equal in all keys
 * moves no items.
 */
static void
sort_items(item **items, uint64_t n, item **scratch, const qb_memory *memory)
{
	int shift;

	for (shift = 0; shift < 64; shift += 8)
	{
		uint64_t start[256] = { 0 };
		item *from = *items;
		uint64_t sum = 0;
		uint64_t i;

		for (i = 0; i < n; i++)
			start[from[i].key >> shift & 255]++;
		if (n == 0 || start[from[0].key >> shift & 255] == n)
			continue;
		for (i = 0; i < 256; i++)
		{
			uint64_t count = start[i];

			start[i] = sum;
			sum += count;
		}
		for (i = 0; i < n; i++)
		{
			qset_pause_at(memory, i);
			(*scratch)[start[from[i].key >> shift & 255]++] = from[i];
		}
		*items = *scratch;
		*scratch = from;
	}
}

/*
 * Make the items of all codes, in the order of their keys.  Keys are signed unless they are wide.
 */
static void
order_codes(const qset_dictionary *l, item **items, item **scratch, const qb_memory *memory)
{
	uint64_t i;

	for (i = 0; i < l->used; i++)
		(*items)[i] = (item){ l->wide ? l->low[i] : l->low[i] ^ UINT64_C(1) << 63, i };
	sort_items(items, l->used, scratch, memory);
	if (!l->wide)
		return;
	for (i = 0; i < l->used; i++)
		(*items)[i].key = l->high[(*items)[i].code];
	sort_items(items, l->used, scratch, memory);
}

static qb_status
rank_slots(const qset_dictionary *l, uint32_t *rank, uint64_t *low, uint64_t *high,
		   const qb_memory *memory)
{
	item *items = qset_alloc(memory, l->used, sizeof(item));
	item *scratch = qset_alloc(memory, l->used, sizeof(item));
	qb_status status = items && scratch ? QB_OK : QB_NO_MEMORY;
	uint64_t i;

	if (status == QB_OK)
		order_codes(l, &items, &scratch, memory);
	for (i = 0; status == QB_OK && i < l->used; i++)
	{
		rank[items[i].code] = (uint32_t) i;
		low[i] = l->low[items[i].code];
		if (high)
			high[i] = l->high[items[i].code];
	}
	qset_release(memory, items);
	qset_release(memory, scratch);
	return status;
}

/* A direct table has the codes in the order of their keys. */
static qb_status
rank_direct(const qset_dictionary *l, uint32_t *rank, uint64_t *low, const qb_memory *memory)
{
	uint32_t ranks = 0;
	uint64_t i;

	for (i = 0; i < l->span; i++)
	{
		qset_pause_at(memory, i);
		if (l->direct[i] == 0)
			continue;
		low[ranks] = l->base + i;
		rank[l->direct[i] - 1] = ranks++;
	}
	return QB_OK;
}

qb_status
qset_dictionary_rank(const qset_dictionary *l, uint32_t *rank, uint64_t *low, uint64_t *high,
					 const qb_memory *memory)
{
	return l->direct ? rank_direct(l, rank, low, memory) : rank_slots(l, rank, low, high, memory);
}
