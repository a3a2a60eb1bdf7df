/*
 * signature.h
 *		Signatures of sets: a bound of what two sets have in common, without their
 *		elements.
 *
 * A signature is a row of bits, and each element of the set sets one of them.  A bit
 * that only one of two signatures has comes from an element that only this set has.
 * So with d such bits
 *
 *	2 * common <= |A| + |B| - d
 *
 * and most candidates of prefixes are left out before their elements are looked at
 * (Sandes, Teodoro and Melo, "Bitmap filter", Information Systems 2020).  The more
 * bits for a set, the fewer elements share one.  So the length grows with the size:
 * level l has 2^l words, about two bits for each element.  The first half of a
 * signature, ORed with the second, is the signature of the level below.  So a row is
 * compared with columns of any level.
 *
 * A pair passes if common >= max(min_count, (|A| + |B|) * t), where t is
 * J / (1 + J).  Here t is a number of 32 bits behind the point, rounded down, so
 * the sieve errs only on the side of letting a pair through.
 *
 * src/sets/signature.h
 */
#ifndef QSET_SIGNATURE_H
#define QSET_SIGNATURE_H

#include "sets/filter.h"

/* Signatures have 1, 2, 4 ... 64 words. */
#define QSET_SIGNATURE_LEVELS 7

/* The largest sets of level 0, with a word. */
#define QSET_SIGNATURE_SETS 32

/* What the sieve knows of a column. */
typedef struct qset_signed
{
	uint32_t size;
	uint32_t at; /* of its signature, in words */
} qset_signed;

/* A row, and what its candidates are compared with. */
typedef struct qset_sieve
{
	const qset_signed *column;
	const uint64_t *signature; /* of all columns */
	uint32_t from;             /* columns before it are not wanted */
	uint64_t row_size;
	uint64_t row_known; /* elements of the row that any column has */
	uint64_t share;     /* t, times 2^32 */
	uint64_t min_count;
	int least_level; /* of the columns that can pass */
	int most_level;
	uint64_t row[1 << QSET_SIGNATURE_LEVELS]; /* level l: from 2^l on; none beyond most_level */
} qset_sieve;

/* The level of sets of a size. */
QB_INLINE int
qset_signature_level(uint64_t size)
{
	int level = 0;

	while (level < QSET_SIGNATURE_LEVELS - 1 && size > (uint64_t) QSET_SIGNATURE_SETS << level)
		level++;
	return level;
}

/* The size of the largest sets of a level. */
QB_INLINE uint64_t
qset_signature_largest(int level)
{
	return level < QSET_SIGNATURE_LEVELS - 1 ? (uint64_t) QSET_SIGNATURE_SETS << level : UINT64_MAX;
}

/* t of a filter, times 2^32. */
QB_INLINE uint64_t
qset_signature_share(const qset_filter *f)
{
	return (uint64_t) (((unsigned __int128) f->numerator << 32) /
					   ((unsigned __int128) f->numerator + f->denominator));
}

/* Make the signature of a level, which is zero before.  Neighbours get different bits. */
QB_INLINE void
qset_signature_make(uint64_t *signature, int level, const uint32_t *element, uint64_t n)
{
	uint32_t mask = (UINT32_C(64) << level) - 1;
	uint64_t i;

	for (i = 0; i < n; i++)
	{
		uint32_t bit = (element[i] * UINT32_C(0x9E3779B1) >> 16) & mask;

		signature[bit / 64] |= UINT64_C(1) << bit % 64;
	}
}

/* Make the row's signatures of all levels up to the last. */
QB_INLINE void
qset_sieve_row(qset_sieve *s, const uint32_t *element, uint64_t n)
{
	int level = s->most_level;
	uint32_t i;

	memset(s->row + (1 << level), 0, sizeof(*s->row) << level);
	qset_signature_make(s->row + (1 << level), level, element, n);
	for (; level > 0; level--)
		for (i = UINT32_C(1) << (level - 1); i < UINT32_C(1) << level; i++)
			s->row[i] = s->row[i + (1 << (level - 1))] | s->row[i + (2 << (level - 1))];
}

/*
 * Write the columns of a list that may pass to "out", which has room for all.  Returns
 * how many they are.  All are of one level.  "wide" is a constant in each call.
 */
QB_INLINE uint32_t
qset_sieve_each(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide,
				uint32_t *out)
{
	const uint32_t *list4 = (const uint32_t *) list;
	const uint16_t *list2 = (const uint16_t *) list;
	const uint64_t *row = s->row + (1 << level);
	uint32_t kept = 0;
	uint64_t i;
	uint32_t w;

	for (i = 0; i < n; i++)
	{
		uint32_t column = wide ? list4[i] : list2[i];
		const uint64_t *signature = s->signature + s->column[column].at;
		uint64_t size = s->column[column].size;
		uint64_t needed = ((s->row_size + size) * s->share + UINT32_MAX) >> 32;
		uint64_t different = 0;

		for (w = 0; w < UINT32_C(1) << level; w++)
			different += (uint64_t) __builtin_popcountll(signature[w] ^ row[w]);
		needed = needed > s->min_count ? needed : s->min_count;
		out[kept] = column;
		kept += (column >= s->from) & (different + 2 * needed <= s->row_known + size);
	}
	return kept;
}

/* The same for any "wide"; each instruction set compiles it for itself. */
QB_INLINE uint32_t
qset_sieve_list(const qset_sieve *s, int level, const void *list, uint64_t n, bool wide,
				uint32_t *out)
{
	if (level == 0)
		return wide ? qset_sieve_each(s, 0, list, n, true, out)
					: qset_sieve_each(s, 0, list, n, false, out);
	if (level == 1)
		return wide ? qset_sieve_each(s, 1, list, n, true, out)
					: qset_sieve_each(s, 1, list, n, false, out);
	return wide ? qset_sieve_each(s, level, list, n, true, out)
				: qset_sieve_each(s, level, list, n, false, out);
}

#endif
