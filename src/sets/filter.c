/*
 * filter.c
 *		The filter of pairs: least count, least Jaccard index, and order.
 *
 * src/sets/filter.c
 */
#include "sets/filter.h"

typedef unsigned __int128 u128;

/*
 * A union has fewer than 2^32 elements, so a pair with a common element passes any least index
 * below LEAST_JACCARD.
 */
#define LEAST_JACCARD 0x1p-33

/*
 * Set *p / *q to the simplest fraction strictly between a/b and c/d.  If a whole number lies
 * between these bounds, the least whole number is the simplest fraction.  If no whole number lies
 * between the bounds, their common whole part is the next term of the result's continued fraction.
 * All numbers are less than 2^100.
 */
static void
simplest_between(u128 a, u128 b, u128 c, u128 d, u128 *p, u128 *q)
{
	u128 whole = a / b;
	u128 rest_p;
	u128 rest_q;

	if ((whole + 1) * d < c)
	{
		*p = whole + 1;
		*q = 1;
		return;
	}
	/* x = whole + 1 / y with y between d / (c - whole d) and b / (a - whole b) */
	if (a == whole * b)
	{
		/* y has no upper bound, so take the first whole number above its lower bound */
		rest_p = d / (c - whole * d) + 1;
		rest_q = 1;
	}
	else
		simplest_between(d, c - whole * d, b, a - whole * b, &rest_p, &rest_q);
	*p = whole * rest_p + rest_q;
	*q = rest_p;
}

/*
 * Set *numerator / *denominator to the simplest fraction that rounds to j, LEAST_JACCARD <= j < 1.
 */
static void
fraction_of(double j, uint64_t *numerator, uint64_t *denominator)
{
	uint64_t bits;
	uint64_t mantissa;
	int shift;
	u128 p;
	u128 q;

	memcpy(&bits, &j, sizeof(bits));
	mantissa = (bits & ((UINT64_C(1) << 52) - 1)) | UINT64_C(1) << 52;
	shift = 1075 - (int) (bits >> 52);
	/*
	 * The bounds are half a unit in the last place from j.  If j is a power of two, the lower bound
	 * is only a quarter of a unit from j.
	 */
	if (mantissa == UINT64_C(1) << 52)
		simplest_between((u128) mantissa * 4 - 1, (u128) 1 << (shift + 2), (u128) mantissa * 2 + 1,
						 (u128) 1 << (shift + 1), &p, &q);
	else
		simplest_between((u128) mantissa * 2 - 1, (u128) 1 << (shift + 1), (u128) mantissa * 2 + 1,
						 (u128) 1 << (shift + 1), &p, &q);
	*numerator = (uint64_t) p;
	*denominator = (uint64_t) q;
}

qb_status
qset_filter_init(qset_filter *f, int64_t min_count, double min_jaccard, uint64_t top)
{
	if (min_count < 0 || !(min_jaccard >= 0 && min_jaccard <= 1))
		return QB_BAD_FILTER;
	f->min_count = (uint64_t) min_count;
	f->top = top;
	f->order = QSET_BY_JACCARD;
	f->numerator = min_jaccard > 0;
	f->denominator = 1;
	if (min_jaccard >= LEAST_JACCARD && min_jaccard < 1)
		fraction_of(min_jaccard, &f->numerator, &f->denominator);
	else if (min_jaccard > 0 && min_jaccard < 1)
		f->denominator = UINT64_C(1) << 33;
	return QB_OK;
}

void
qset_filter_sizes(const qset_filter *f, uint64_t size, uint64_t *least, uint64_t *most)
{
	*least = qset_filter_least(f, size);
	*most = UINT64_MAX;
	if (f->numerator > 0)
		*most = (uint64_t) ((u128) size * f->denominator / f->numerator);
	if (size < f->min_count)
		*most = 0;
}

static const char *const orders[QSET_ORDERS] = {
	[QSET_BY_JACCARD] = "jaccard",
	[QSET_BY_COMMON] = "common",
	[QSET_BY_OVERLAP] = "overlap",
	[QSET_BY_LIFT] = "lift",
};

int
qset_order_of(const char *name)
{
	int i;

	for (i = 0; i < QSET_ORDERS; i++)
		if (strcmp(name, orders[i]) == 0)
			return i;
	return -1;
}
