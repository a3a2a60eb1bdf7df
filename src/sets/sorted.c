/*
 * sorted.c
 *		Sets as strictly ascending arrays of integers: the plain functions (kernels.h).
 *
 * src/sets/sorted.c
 */
#include "sets/kernels.h"

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
