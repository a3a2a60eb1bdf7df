/*
 * entry_sort.c
 *		Sorting the entries of an explicit sketch by fingerprint, for writing.
 *
 * Entries are distributed by the highest bits in which they differ, into about as many
 * buckets as there are entries.  Hashes and close integers then lie within a few places of
 * where they belong, and one insertion sort finishes.  A bucket that got many entries is
 * distributed again.  So it takes a few passes for integers of both signs, and for a few
 * numbers far from all others.  Each distribution looks at further bits, so there are at
 * most 64 / DIGIT_MIN of them, one within another.
 *
 * src/sketch/entry_sort.c
 */
#include "sketch/entry_sort.h"

/* Buckets of at most this many entries are left to the insertion sort. */
#define FEW 16

/* Bits by which one pass distributes. */
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

/* The bits in which the fingerprints differ. */
static uint64_t
varying_bits(const qs_entry *entry, uint32_t count)
{
	uint64_t bits = 0;
	uint32_t i;

	for (i = 1; i < count; i++)
		bits |= entry[i].fingerprint ^ entry[0].fingerprint;
	return bits;
}

/* By which bits to distribute. */
typedef struct digit
{
	uint32_t shift;
	uint32_t bits;
} digit;

/* About as many buckets as entries, by the highest bits that differ. */
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

/* Distribute the entries; end[b] becomes the place after bucket b. */
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
