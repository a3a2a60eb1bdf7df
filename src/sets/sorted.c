/*
 * sorted.c
 *		Sets as strictly ascending arrays of integers: the plain functions (kernels.h), and
 *		the choice between merging and galloping.
 *
 * src/sets/sorted.c
 */
#include "sets/kernels.h"

/* Is a set of n elements so much smaller than one of m that it should gallop? */
static bool
much_smaller(uint64_t n, uint64_t m)
{
	return n < m / QSET_GALLOP_RATIO;
}

#define QSET_WORD    int32_t
#define QSET_KEY     uint32_t
#define QSET_BITS    32
#define QSET_NAME(x) x##32
#include "sets/sorted_template.h"

#define QSET_WORD    int64_t
#define QSET_KEY     uint64_t
#define QSET_BITS    64
#define QSET_NAME(x) x##64
#include "sets/sorted_template.h"
