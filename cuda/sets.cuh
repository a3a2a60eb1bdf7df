/*
 * sets.cuh
 *		What the files of the CUDA engine for sets share on the host side.
 *
 * Counts of common elements are made a *strip* of rows at a time:
 *
 *	sets_product.cu		a strip of counts from bit matrices
 *	sets_techniques.cu	a strip of counts, one pair after another (the paper)
 *	sets_rows.cu		adds the lists of the inverted index to the strip's counts, one row at a
 *						time, and hands out the pairs that pass
 *
 * So every method ends in the same kernel.  The index has no strip, the hybrid
 * has a strip and lists, the other methods have no lists.
 *
 * cuda/sets.cuh
 */
#ifndef QSET_SETS_CUH
#define QSET_SETS_CUH

#include "device.cuh"
#include "sets_cuda.h"

/* Arrays in device memory that are freed together. */
#define QSET_ARRAYS 16

struct qset_memory
{
	qs_cuda *gpu;
	uint64_t bytes; /* bytes of all arrays */
	int arrays;
	struct
	{
		void *at;
		uint64_t bytes;
	} array[QSET_ARRAYS];
};

/* Allocate an array of zeros, within the limit; free all arrays. */
extern qb_status qset_alloc_bytes(qset_memory *m, uint64_t bytes, void **pointer);
extern void qset_free(qset_memory *m);

template <typename Item>
static qb_status
qset_alloc(qset_memory *m, uint64_t count, Item **array)
{
	return qset_alloc_bytes(m, count * sizeof(Item), (void **) array);
}

/* The inverted index: each element's list, which has the sets with this element, ascending. */
struct qset_index
{
	uint32_t *start; /* universe + 1 */
	uint2 *rest;     /* for each element of a set: begin and end of the list behind this set */
	void *list;      /* the lists: numbers of sets, in 2 bytes while these suffice, else in 4 */
	bool built;
	uint64_t *bin; /* on the host: number of elements of each degree, sets + 1 */
	qset_memory memory;
};

struct qset_cuda_sets
{
	qs_cuda *gpu;
	uint64_t sets;
	uint64_t elements;
	uint64_t universe;
	uint64_t *offset;  /* sets + 1 */
	uint32_t *element; /* ascending within a set */
	qset_index index;  /* the lists of this collection's sets, for searches with it as columns */
	uint64_t largest;  /* elements of the largest set */
	uint64_t last;     /* the last offset that was put in */
	qset_memory memory;
};

/* Are sets numbered in 2 bytes? */
static inline bool
qset_short_list(const qset_cuda_sets *s)
{
	return s->sets <= UINT16_MAX + UINT64_C(1);
}

/* Counts of rows first .. first + rows - 1: count[row - first][column]. */
struct qset_strip
{
	uint32_t *count;
	uint64_t first;
	uint64_t rows;
	uint64_t width; /* counts in a row: the number of columns, rounded up */
};

/*
 * A product goes through its rows and columns in tiles of QSET_TILE, and
 * through its bits in steps of QSET_BIT_WORDS words.
 */
#define QSET_TILE      128
#define QSET_BIT_WORDS 16

/*
 * qset_workspace() gets workspace within the limit.  qset_device_room() says how many bytes may
 * still be allocated.
 */
extern qb_status qset_workspace(qs_cuda *gpu, uint64_t bytes, uint8_t **pointer);
extern qb_status qset_device_room(qs_cuda *gpu, uint64_t *bytes);

/*
 * Copy from another collection's device to the device of "to", in order with the kernels of "to".
 */
extern qb_status qset_peer_copy(qset_cuda_sets *to, void *at, const qset_cuda_sets *from,
								const void *pointer, uint64_t bytes);

/* ---- sets.cu: the index ---- */

extern qb_status qset_index_make(qset_cuda_sets *s);
extern qb_status qset_index_copy(qset_cuda_sets *to, const qset_cuda_sets *from);
extern void qset_index_free(qset_cuda_sets *s);

/* Write the numbers 0, 1, 2 and so on.  As columns of bits they choose all elements. */
extern qb_status qset_number_all(qs_cuda *gpu, uint32_t *number, uint64_t count);

/*
 * Choose the method for a request whose columns have their index.  For hybrid also choose the least
 * degree of columns of bits.
 */
extern int
qset_choose_method(const qset_cuda_request *r, bool tail, uint64_t *degree, double *expected_ms);

/* ---- sets_product.cu ---- */

/* The elements that are columns of bits: all, or those of at least a given degree. */
struct qset_bits
{
	uint32_t *column; /* for each element: its bit, or UINT32_MAX */
	uint32_t *end;    /* for each element: end of its list, or 0 if the element has a bit */
	uint64_t columns; /* number of columns of bits */
	uint64_t words;   /* words of a set's bits, a multiple of QSET_BIT_WORDS */
	uint32_t *row;    /* bits of the rows, with room for whole tiles from any row on */
	uint32_t *other;  /* bits of the columns; may be the matrix of the rows */
};

/* Choose the elements of at least this degree: fill column and end. */
extern qb_status qset_bits_choose(qs_cuda *gpu, const qset_cuda_sets *columns, uint64_t degree,
								  const qset_bits *bits);

/* Fill a zeroed matrix with the bits of a collection's sets. */
extern qb_status
qset_bits_fill(qs_cuda *gpu, const qset_cuda_sets *s, const qset_bits *bits, uint32_t *matrix);

/*
 * strip = product of its rows with all columns.  With "tail" only tiles with later columns are
 * computed.
 */
extern qb_status qset_bits_multiply(qs_cuda *gpu, const qset_bits *bits, bool tail,
									qset_product how, const qset_strip *strip);

/* ---- sets_techniques.cu ---- */

struct qset_pairwise
{
	const qset_cuda_sets *rows;
	const qset_cuda_sets *columns;
	bool tail;
	qset_filter filter;
	int method;
	uint32_t *table; /* table of the methods hash and bitmap */
};

/* Words of the table for strips of this many rows; 0: the method has no table. */
extern qb_status
qset_probe_words(qs_cuda *gpu, const qset_pairwise *p, uint64_t rows, uint64_t *words);

/* strip = the counts of all its pairs, made one pair after another. */
extern qb_status qset_pairwise_count(qs_cuda *gpu, const qset_pairwise *p, const qset_strip *strip);

/* ---- sets_rows.cu ---- */

/* Where pairs that pass are written. */
struct qset_output
{
	qset_pair *pair;
	uint64_t room;
	uint64_t *start;  /* for each unit: where its pairs begin */
	uint32_t *found;  /* for each unit: how many pairs it has */
	uint64_t *cursor; /* number of pairs so far, including pairs that found no room */
	bool start_given; /* "start" is given: a unit's pairs go to its start, minus ... */
	uint64_t base;
	uint64_t first_unit; /* the first unit of this launch */
	uint64_t units;
};

struct qset_rows
{
	const qset_cuda_sets *rows;
	const qset_cuda_sets *columns;
	bool tail;           /* only later columns */
	bool same;           /* within one collection */
	bool lists;          /* add the lists of the index */
	bool into_strip;     /* write counts to the strip only, and hand out no pairs */
	const uint32_t *end; /* ends of the lists; NULL: whole lists */
	qset_filter filter;
	uint32_t block_columns; /* columns whose counters are held at a time */
	uint32_t blocks;
	int threads;
	uint64_t shared; /* bytes of shared memory */
};

/* Choose the threads of a block, and how many columns it counts at a time. */
extern void qset_rows_plan(qs_cuda *gpu, qset_rows *r);

/* Count and filter.  A unit is a row and a block of columns.  For index "strip" has no counts. */
extern qb_status
qset_rows_run(qs_cuda *gpu, const qset_rows *r, const qset_strip *strip, const qset_output *out);

/*
 * Bring units into order after all their pairs found room.  offset[unit] is
 * where a unit's pairs belong, and offset[units] is the number of all pairs.
 */
extern qb_status qset_rows_order(qs_cuda *gpu, const qset_output *out, uint64_t *offset,
								 uint64_t units, qset_pair *to);

#endif
