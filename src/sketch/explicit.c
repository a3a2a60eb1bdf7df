/*
 * explicit.c
 *		The explicit encoding: exact counts of few distinct keys.
 *
 * An explicit sketch is exact, and has an entry of 16 bytes for each distinct key.  In memory, the
 * entries are in a hash table with linear probing, whose slots depend on the secret of the process.
 * The table doubles when it is three quarters full.  In serialized bytes, the entries are an array
 * sorted by fingerprint.  The array depends only on the multiset of keys, and is searched in place.
 * In a list of top keys (top.h), counts have 4 bytes if their sum fits in 4 bytes.
 *
 * src/sketch/explicit.c
 */
#include "sketch/explicit.h"

#include "base/slot.h"

#define FIRST_SLOTS 16

QB_INLINE qs_entry
load_entry(const uint8_t *entries, uint64_t i, bool narrow)
{
	const uint8_t *at = entries + i * qs_entry_bytes(narrow);
	qs_entry e;

	if (narrow)
		return (qs_entry){ qb_load64(at), qb_load32(at + sizeof(e.fingerprint)) };
	memcpy(&e, at, sizeof(e));
	return e;
}

/* Returns the slot of the key, or the empty slot into which the key belongs. */
QB_INLINE qs_entry *
find_slot(const qs_sketch *sk, uint64_t fingerprint)
{
	qs_entry *slot = (qs_entry *) sk->entries;
	uint64_t i = qb_slot_hash(fingerprint) & (sk->slots - 1);

	while (slot[i].count != 0 && slot[i].fingerprint != fingerprint)
		i = (i + 1) & (sk->slots - 1);
	return &slot[i];
}

QB_INLINE int64_t
get_sorted(const qs_sketch *sk, bool narrow, uint64_t fingerprint)
{
	uint64_t low = 0;
	uint64_t high = sk->used;

	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;
		qs_entry e = load_entry(sk->entries, middle, narrow);

		if (e.fingerprint == fingerprint)
			return e.count;
		if (e.fingerprint < fingerprint)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

int64_t
qs_explicit_get(const qs_sketch *sk, uint64_t fingerprint)
{
	if (sk->used == 0)
		return 0;
	if (sk->view)
		return sk->narrow ? get_sorted(sk, true, fingerprint) : get_sorted(sk, false, fingerprint);
	return find_slot(sk, fingerprint)->count;
}

QB_INLINE bool
next_entry(const qs_sketch *sk, bool narrow, uint64_t *position, qs_entry *entry)
{
	uint64_t end = sk->view ? sk->used : sk->slots;

	while (*position < end)
	{
		*entry = load_entry(sk->entries, (*position)++, narrow);
		if (entry->count != 0)
			return true;
	}
	return false;
}

/* Doubles the hash table, or makes the first one. */
static qb_status
grow(qs_sketch *sk)
{
	qs_sketch bigger = *sk;
	uint64_t position = 0;
	qs_entry e;

	bigger.slots = sk->slots ? sk->slots * 2 : FIRST_SLOTS;
	bigger.entries = sk->memory->alloc(sk->memory->context, bigger.slots * sizeof(qs_entry));
	if (!bigger.entries)
		return QB_NO_MEMORY;
	while (next_entry(sk, false, &position, &e))
		*find_slot(&bigger, e.fingerprint) = e;
	if (sk->entries)
		sk->memory->release(sk->memory->context, sk->entries);
	*sk = bigger;
	return QB_OK;
}

/*
 * Makes an entry for a new key in the empty slot.  If the table is three quarters full, first
 * enlarges the table.  Returns NULL if memory runs out.
 */
static qs_entry *
new_entry(qs_sketch *sk, qs_entry *slot, uint64_t fingerprint)
{
	if (sk->used >= sk->slots / 4 * 3)
	{
		if (grow(sk) != QB_OK)
			return NULL;
		slot = find_slot(sk, fingerprint);
	}
	slot->fingerprint = fingerprint;
	sk->used++;
	return slot;
}

/*
 * The weights may be counts of a view that was not validated.  Unsigned arithmetic makes an
 * overflow harmless.
 */
qb_status
qs_explicit_add(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count,
				size_t *done)
{
	uint64_t limit = qs_explicit_limit(&sk->params);
	size_t i;

	for (i = 0; i < count; i++)
	{
		int64_t w = weight ? weight[i] : 1;
		qs_entry *e = sk->slots ? find_slot(sk, fingerprint[i]) : NULL;

		if (w == 0)
			continue;
		if (!e || e->count == 0)
		{
			if (sk->used == limit)
				break;
			e = new_entry(sk, e, fingerprint[i]);
			if (!e)
				return QB_NO_MEMORY;
		}
		e->count = (int64_t) ((uint64_t) e->count + (uint64_t) w);
	}
	*done = i;
	return QB_OK;
}

/*
 * Empties a slot.  Moves the next entry whose search would end at the empty slot into this slot,
 * and then fills the old slot of that entry in the same way.
 */
static void
delete_slot(qs_sketch *sk, qs_entry *hole)
{
	qs_entry *slot = (qs_entry *) sk->entries;
	uint64_t last = sk->slots - 1;
	uint64_t gap = (uint64_t) (hole - slot);
	uint64_t i = gap;

	for (;;)
	{
		uint64_t home;

		i = (i + 1) & last;
		if (slot[i].count == 0)
			break;
		home = qb_slot_hash(slot[i].fingerprint) & last;
		if (((i - home) & last) >= ((i - gap) & last))
		{
			slot[gap] = slot[i];
			gap = i;
		}
	}
	memset(&slot[gap], 0, sizeof(qs_entry));
	sk->used--;
}

size_t
qs_explicit_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	size_t i;

	for (i = 0; i < count; i++)
	{
		int64_t w = weight ? weight[i] : 1;
		qs_entry *e;

		if (w == 0)
			continue;
		if (sk->used == 0)
			break;
		e = find_slot(sk, fingerprint[i]);
		if ((uint64_t) e->count < (uint64_t) w)
			break;
		e->count = (int64_t) ((uint64_t) e->count - (uint64_t) w);
		if (e->count == 0)
			delete_slot(sk, e);
	}
	return i;
}

bool
qs_explicit_next(const qs_sketch *sk, uint64_t *position, qs_entry *entry)
{
	return sk->narrow ? next_entry(sk, true, position, entry)
					  : next_entry(sk, false, position, entry);
}

void
qs_explicit_write(const qs_sketch *sk, bool narrow, uint8_t *out)
{
	qs_entry entry[QS_EXPLICIT_MAX];
	qs_entry spare[QS_EXPLICIT_MAX];
	uint64_t position = 0;
	uint32_t n = 0;
	uint32_t i;

	if (sk->view && sk->narrow == narrow)
	{
		memcpy(out, sk->entries, sk->used * qs_entry_bytes(narrow));
		return;
	}
	while (n < QS_EXPLICIT_MAX && qs_explicit_next(sk, &position, &entry[n]))
		n++;
	if (!sk->view)
		qs_sort_entries(entry, spare, n);
	if (!narrow)
	{
		memcpy(out, entry, n * sizeof(qs_entry));
		return;
	}
	for (i = 0; i < n; i++, out += qs_entry_bytes(true))
	{
		qb_store64(out, entry[i].fingerprint);
		qb_store32(out + sizeof(entry[i].fingerprint), (uint32_t) entry[i].count);
	}
}

bool
qs_explicit_check(const qs_sketch *sk)
{
	int64_t rest = sk->total;
	uint64_t previous = 0;
	uint64_t i;

	for (i = 0; i < sk->used; i++)
	{
		qs_entry e = load_entry(sk->entries, i, sk->narrow);

		if (e.count < 1 || e.count > rest || (i > 0 && e.fingerprint <= previous))
			return false;
		rest -= e.count;
		previous = e.fingerprint;
	}
	return rest == 0;
}

/*
 * ---- sorting the entries of an explicit sketch by fingerprint, for writing ----
 *
 * Entries are distributed into buckets by the highest bits in which they differ.  The number of
 * buckets is about the number of entries.  After this pass, hashes and close integers are within a
 * few positions of their final position, and one insertion sort finishes.  A bucket with many
 * entries is distributed again.  Integers of both signs, and numbers with a few outliers, fill only
 * a few buckets in one pass, so they take several passes.  Each recursion uses further bits, so at
 * most 64 / DIGIT_MIN calls are nested.
 */

/* Buckets of at most this many entries are not distributed again. */
#define FEW 16

/* The minimum and the maximum number of bits of a digit. */
#define DIGIT_MIN 5
#define DIGIT_MAX 11

static void
insert_each(qs_entry *entry, uint32_t count)
{
	uint32_t i;

	for (i = 1; i < count; i++)
	{
		qs_entry e = entry[i];
		uint32_t at = i;

		for (; at > 0 && entry[at - 1].fingerprint > e.fingerprint; at--)
			entry[at] = entry[at - 1];
		entry[at] = e;
	}
}

/* Returns a mask of the bits in which fingerprints differ. */
static uint64_t
varying_bits(const qs_entry *entry, uint32_t count)
{
	uint64_t bits = 0;
	uint32_t i;

	for (i = 1; i < count; i++)
		bits |= entry[i].fingerprint ^ entry[0].fingerprint;
	return bits;
}

/* The bits of a fingerprint by which one pass distributes entries. */
typedef struct digit
{
	uint32_t shift;
	uint32_t bits;
} digit;

/*
 * Chooses the highest bits that differ.  The number of buckets is close to the number of entries.
 */
static digit
choose_digit(const qs_entry *entry, uint32_t count)
{
	uint64_t varying = varying_bits(entry, count);
	uint32_t width = varying == 0 ? 1 : 64 - (uint32_t) __builtin_clzll(varying);
	uint32_t bits = 32 - (uint32_t) __builtin_clz(count);

	bits = bits < DIGIT_MIN ? DIGIT_MIN : bits > DIGIT_MAX ? DIGIT_MAX : bits;
	return (digit){ .shift = width > bits ? width - bits : 0, .bits = bits };
}

QB_INLINE uint32_t
bucket_of(const qs_entry *entry, digit d)
{
	return (uint32_t) (entry->fingerprint >> d.shift) & ((UINT32_C(1) << d.bits) - 1);
}

/*
 * Distributes the entries into buckets.  end[b] becomes the index after the last entry of bucket b.
 */
static void
distribute(qs_entry *entry, qs_entry *spare, uint32_t count, digit d, uint16_t *end)
{
	uint32_t sum = 0;
	uint32_t i;

	memset(end, 0, sizeof(*end) << d.bits);
	for (i = 0; i < count; i++)
		end[bucket_of(&entry[i], d)]++;
	for (i = 0; i < UINT32_C(1) << d.bits; i++)
	{
		uint32_t here = end[i];

		end[i] = (uint16_t) sum;
		sum += here;
	}
	for (i = 0; i < count; i++)
		spare[end[bucket_of(&entry[i], d)]++] = entry[i];
	memcpy(entry, spare, count * sizeof(*entry));
}

void
qs_sort_entries(qs_entry *entry, qs_entry *spare, uint32_t count)
{
	uint16_t end[1 << DIGIT_MAX];
	uint32_t from = 0;
	uint32_t i;
	digit d;

	if (count > FEW)
	{
		d = choose_digit(entry, count);
		distribute(entry, spare, count, d, end);
		for (i = 0; i < UINT32_C(1) << d.bits; from = end[i++])
			if (end[i] - from > FEW && d.shift > 0)
				qs_sort_entries(entry + from, spare, end[i] - from);
	}
	insert_each(entry, count);
}
