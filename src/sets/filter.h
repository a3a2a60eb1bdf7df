/*
 * filter.h
 *		The filter of pairs: least count, least Jaccard index and order; signatures of sets.
 *
 * The Jaccard index of a pair is a fraction of two integers, common / union, and is compared
 * exactly with the least index.  The least index is passed as a double, which for most fractions is
 * only the nearest double.  For example, 0.8 is slightly more than 4/5.  So the double is taken for
 * the simplest fraction that rounds to it: 0.8 means 4/5, and 1.0 / 3 means 1/3.  If the union of a
 * pair is less than 2^26, a comparison of two doubles would give the same result.  For larger
 * unions only the comparison of fractions is exact.
 *
 * The Jaccard index of two empty sets is 0.
 *
 * src/sets/filter.h
 */
#ifndef QSET_FILTER_H
#define QSET_FILTER_H

#include "sets/sets.h"

/* The number by which the pairs of a set are ordered; a pair with a greater number is better. */
typedef enum qset_order
{
	QSET_BY_JACCARD, /* Jaccard index */
	QSET_BY_COMMON,  /* number of common elements */
	QSET_BY_OVERLAP, /* fraction of the smaller set that is common */
	QSET_BY_LIFT,    /* common elements relative to the sizes of both sets */
	QSET_ORDERS
} qset_order;

typedef struct qset_filter
{
	uint64_t min_count;
	uint64_t numerator; /* numerator of the least Jaccard index */
	uint64_t denominator;
	uint64_t top;     /* number of best pairs of each set; 0: all pairs */
	qset_order order; /* which pairs are best; devices support only the Jaccard index */
} qset_filter;

/*
 * A pair that passes: the numbers of its sets, the number of elements in both sets, and the number
 * of elements in at least one set.
 */
typedef struct qset_pair
{
	uint32_t a;
	uint32_t b;
	uint32_t common;
	uint32_t either;
} qset_pair;

/* Make a filter.  QB_BAD_FILTER: min_count < 0, or min_jaccard is not in 0 .. 1. */
extern qb_status
qset_filter_init(qset_filter *f, int64_t min_count, double min_jaccard, uint64_t top);

/* True if pairs without a common element can pass. */
QB_INLINE bool
qset_filter_passes_nothing(const qset_filter *f)
{
	return f->min_count == 0 && f->numerator == 0;
}

/* True if a pair passes with "common" elements in both sets and "either" in at least one set. */
QB_INLINE bool
qset_filter_pass(const qset_filter *f, uint64_t common, uint64_t either)
{
	if (either == 0)
		either = 1;
	return common >= f->min_count &&
		   (f->numerator == 0 || (unsigned __int128) common * f->denominator >=
									 (unsigned __int128) either * f->numerator);
}

/*
 * Return the least number of common elements with which a set of this size can pass.  The number is
 * at least min_count and at least size * J, where J is the least Jaccard index, because
 * J <= common / union <= common / size.
 */
QB_INLINE uint64_t
qset_filter_least(const qset_filter *f, uint64_t size)
{
	unsigned __int128 least;

	if (f->denominator <= UINT32_MAX && size <= UINT32_MAX)
		least = (size * f->numerator + f->denominator - 1) / f->denominator;
	else
		least = ((unsigned __int128) size * f->numerator + f->denominator - 1) / f->denominator;
	return least > f->min_count ? (uint64_t) least : f->min_count;
}

/*
 * Set *least and *most to the least and the greatest size of the other set of a passing pair.
 * *least is the greater of min_count and size * J.  *most is size / J, or 0 if size < min_count.
 */
extern void qset_filter_sizes(const qset_filter *f, uint64_t size, uint64_t *least, uint64_t *most);

/*
 * Return the greatest size of the other set of a passing pair that has at most "common" common
 * elements.  For this size "most", common / (size + most - common) >= J.
 */
QB_INLINE uint64_t
qset_filter_most(const qset_filter *f, uint64_t size, uint64_t common)
{
	unsigned __int128 either = 0;

	if (f->numerator == 0)
		return UINT64_MAX;
	if (f->denominator <= UINT32_MAX && common <= UINT32_MAX)
		either = common * f->denominator / f->numerator;
	else
		either = (unsigned __int128) common * f->denominator / f->numerator;
	either += common;
	return either < size ? 0 : either - size > UINT32_MAX ? UINT64_MAX : (uint64_t) either - size;
}

/* Return the size of set b, given the size of set a. */
QB_INLINE uint64_t
qset_pair_size_b(const qset_pair *pair, uint64_t size)
{
	return (uint64_t) pair->either + pair->common - size;
}

/* Return the number by which "order" divides "common".  Not for QSET_BY_JACCARD. */
QB_INLINE uint64_t
qset_order_whole(qset_order order, uint64_t size, const qset_pair *pair)
{
	uint64_t other = qset_pair_size_b(pair, size);
	uint64_t whole = order == QSET_BY_LIFT ? other : other < size ? other : size;

	return order == QSET_BY_COMMON || whole == 0 ? 1 : whole;
}

/*
 * True if x is better than y.  Both are pairs of one set a, which has "size" elements.  If the
 * order does not decide, the greater Jaccard index is better, then the smaller b.
 */
QB_INLINE bool
qset_pair_better(qset_order order, uint64_t size, const qset_pair *x, const qset_pair *y)
{
	uint64_t left;
	uint64_t right;

	if (order != QSET_BY_JACCARD)
	{
		left = x->common * qset_order_whole(order, size, y);
		right = y->common * qset_order_whole(order, size, x);
		if (left != right)
			return left > right;
	}
	left = (uint64_t) x->common * y->either;
	right = (uint64_t) y->common * x->either;
	return left != right ? left > right : x->b < y->b;
}

/* Return the order with this name, or -1. */
extern int qset_order_of(const char *name);

/*
 * ---- signatures of sets: an upper bound of the number of common elements ----
 *
 * A signature is an array of bits, and each element of a set sets one bit.  If a bit is set in only
 * one of two signatures, the other set lacks the element that sets the bit.  So if d bits differ,
 *
 *   2 * common <= |A| + |B| - d
 *
 * This bound excludes most candidates of prefixes before their elements are read (Sandes, Teodoro
 * and Melo, "Bitmap filter", Information Systems 2020).  In a longer signature fewer elements share
 * a bit.  So the length grows with the size of the set: level l has 2^l words, at least two bits
 * for each element except in the highest level.  The two halves of a signature, ORed, are the
 * signature of the next lower level.  So a row is compared with columns of any level.
 *
 * A pair passes if common >= max(min_count, (|A| + |B|) * t), where t is J / (1 + J).  t is stored
 * with 32 fractional bits, rounded down, so the sieve excludes no pair that passes.
 */

/* The number of levels: signatures have 1, 2, 4 ... 64 words. */
#define QSET_SIGNATURE_LEVELS 7

/* The largest size of a set of level 0.  The signature of such a set has one word. */
#define QSET_SIGNATURE_SETS 32

/* The size of a column, and its signature, for the sieve. */
typedef struct qset_signed
{
	uint32_t size;
	uint32_t at; /* offset of the column's signature in words */
} qset_signed;

/* A row, and the data with which its candidates are sieved. */
typedef struct qset_sieve
{
	const qset_signed *column;
	const uint64_t *signature; /* the signatures of all columns */
	uint32_t from;             /* columns with smaller numbers are excluded */
	uint64_t row_size;
	uint64_t row_known; /* number of the row's elements that the columns' collection has */
	uint64_t fraction;  /* t, times 2^32 */
	uint64_t min_count;
	int least_level; /* the least level of columns that can pass */
	int most_level;
	uint64_t row[1 << QSET_SIGNATURE_LEVELS]; /* signatures; level l begins at index 2^l */
} qset_sieve;

/* Return the level of sets of this size. */
QB_INLINE int
qset_signature_level(uint64_t size)
{
	int level = 0;

	while (level < QSET_SIGNATURE_LEVELS - 1 && size > (uint64_t) QSET_SIGNATURE_SETS << level)
		level++;
	return level;
}

/* Return the size of the largest sets of a level. */
QB_INLINE uint64_t
qset_signature_largest(int level)
{
	return level < QSET_SIGNATURE_LEVELS - 1 ? (uint64_t) QSET_SIGNATURE_SETS << level : UINT64_MAX;
}

/* Return t of a filter, times 2^32. */
QB_INLINE uint64_t
qset_signature_fraction(const qset_filter *f)
{
	return (uint64_t) (((unsigned __int128) f->numerator << 32) /
					   ((unsigned __int128) f->numerator + f->denominator));
}

/* Set the bits of a signature, which is zero before.  Neighbouring elements set different bits. */
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

/* Make the row's signatures of levels 0 to most_level. */
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
 * Find the columns of a list that may pass, write them to "out", and return their number.  "out"
 * has space for all columns.  All columns are of one level.  "wide" is a constant in each call.
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
		uint64_t needed = ((s->row_size + size) * s->fraction + UINT32_MAX) >> 32;
		uint64_t different = 0;

		for (w = 0; w < UINT32_C(1) << level; w++)
			different += (uint64_t) __builtin_popcountll(signature[w] ^ row[w]);
		needed = needed > s->min_count ? needed : s->min_count;
		out[kept] = column;
		kept += (column >= s->from) & (different + 2 * needed <= s->row_known + size);
	}
	return kept;
}

/*
 * Call qset_sieve_each() with "wide" and the levels 0 and 1 as constants.  Each instruction set
 * compiles its own version.
 */
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
