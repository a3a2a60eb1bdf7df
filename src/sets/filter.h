/*
 * filter.h
 *		Which pairs are wanted: least count, least Jaccard index, best per set and
 *		in which order.
 *
 * The Jaccard index of a pair is a fraction of two integers, common / union,
 * and is compared exactly with the least index.  The least index comes as a
 * double, which for most fractions is only the nearest number to what was
 * meant: 0.8 is slightly more than 4/5.  So the double stands for the simplest
 * fraction that rounds to it: 0.8 means 4/5, and 1.0 / 3 means 1/3.  For pairs
 * whose union is below 2^26 the result is the same as comparing two doubles.
 * For larger unions our comparison is exact, and comparing doubles is not.
 *
 * The Jaccard index of two empty sets is taken as 0.
 *
 * src/sets/filter.h
 */
#ifndef QSET_FILTER_H
#define QSET_FILTER_H

#include "sets/sets.h"

/* What makes a pair better than another pair of the same set: the greater ... */
typedef enum qset_order
{
	QSET_BY_JACCARD, /* Jaccard index */
	QSET_BY_COMMON,  /* number of common elements */
	QSET_BY_OVERLAP, /* fraction of the smaller set that is common */
	QSET_BY_LIFT,    /* common elements for the sizes of both sets */
	QSET_ORDERS
} qset_order;

typedef struct qset_filter
{
	uint64_t min_count;
	uint64_t numerator; /* of the least Jaccard index */
	uint64_t denominator;
	uint64_t top;     /* how many of the best pairs each set keeps; 0: all */
	qset_order order; /* which pairs are the best; devices know the Jaccard index alone */
} qset_filter;

/* A pair that passed: the numbers of its sets, elements in both, elements in at least one. */
typedef struct qset_pair
{
	uint32_t a;
	uint32_t b;
	uint32_t common;
	uint32_t either;
} qset_pair;

/* QB_BAD_FILTER if min_count < 0 or min_jaccard is not in 0 .. 1. */
extern qb_status
qset_filter_init(qset_filter *f, int64_t min_count, double min_jaccard, uint64_t top);

/* Can sets without a common element pass? */
QB_INLINE bool
qset_filter_passes_nothing(const qset_filter *f)
{
	return f->min_count == 0 && f->numerator == 0;
}

/* Does a pair pass that has "common" elements in both sets and "either" in at least one? */
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
 * The least count with which a set of this size can pass, whatever the other
 * set: J <= common / union <= common / size.
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
 * Sizes that the other set of a passing pair may have: from size * J to
 * size / J, and at least min_count.
 */
extern void qset_filter_sizes(const qset_filter *f, uint64_t size, uint64_t *least, uint64_t *most);

/*
 * The largest size that the other set may have if at most "common" elements of
 * a set of this size can be in both: common / (size + most - common) >= J.
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

/* The size of b, given that of a. */
QB_INLINE uint64_t
qset_pair_size_b(const qset_pair *pair, uint64_t size)
{
	return (uint64_t) pair->either + pair->common - size;
}

/* The number that "common" is divided by, in an order other than that by the Jaccard index. */
QB_INLINE uint64_t
qset_order_whole(qset_order order, uint64_t size, const qset_pair *pair)
{
	uint64_t other = qset_pair_size_b(pair, size);
	uint64_t whole = order == QSET_BY_LIFT ? other : other < size ? other : size;

	return order == QSET_BY_COMMON || whole == 0 ? 1 : whole;
}

/*
 * Does x come before y, if both are pairs of one set a of this size?  Among equal ones
 * the greater Jaccard index comes first, then the smaller b.
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

/* The order with a name, or -1. */
extern int qset_order_of(const char *name);

#endif
