/*
 * sorted.c
 *		Sets as strictly ascending arrays of integers: the plain functions.
 *
 * src/sets/sorted.c
 */
#include "sets/sorted.h"

#define QI_WORD    int32_t
#define QI_KEY     uint32_t
#define QI_BITS    32
#define QI_NAME(x) x##32
#include "sets/sorted_template.h"

#define QI_WORD    int64_t
#define QI_KEY     uint64_t
#define QI_BITS    64
#define QI_NAME(x) x##64
#include "sets/sorted_template.h"
