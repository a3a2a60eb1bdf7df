/*
 * sets.cuh
 *		What the files of the CUDA engine for sets share on the host side.
 *
 * Common elements are counted for a *strip* of rows at a time:
 *
 *	sets_product.cu		computes a strip of counts from bit matrices
 *	sets_techniques.cu	computes a strip of counts by the paper's methods, one pair after another
 *	sets_rows.cu		adds the lists of the inverted index to the strip's counts, one row at a
 *						time, and writes the pairs that pass the filter
 *
 * So all methods end with the kernel of sets_rows.cu.  Method index uses lists.  With "top" and
 * many columns it also uses a strip.  Method hybrid uses a strip and lists.  All other methods use
 * only a strip.
 *
 * cuda/sets.cuh
 */
#ifndef QSET_SETS_CUH
#define QSET_SETS_CUH

#include "device.cuh"
#include "sets_cuda.h"

/* Largest number of arrays in a qset_memory, whose arrays are freed together. */
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

/* Allocate a zeroed array, within the device's memory limit.  qset_free() frees all arrays. */
extern qb_status qset_alloc_bytes(qset_memory *m, uint64_t bytes, void **pointer);
extern void qset_free(qset_memory *m);

template <typename Item>
static qb_status
qset_alloc(qset_memory *m, uint64_t count, Item **array)
{
	return qset_alloc_bytes(m, count * sizeof(Item), (void **) array);
}

/* The inverted index: for each element, the ascending list of the sets with this element. */
struct qset_index
{
	uint32_t *start; /* start of each list, and end of the last list; universe + 1 items */
	uint2 *rest; /* for each element of a set: begin and end of its list behind the set's entry */
	void *list;  /* the lists: set numbers of 2 bytes if qset_short_list(), else of 4 bytes */
	bool built;
	uint64_t *bin; /* in host memory: number of elements of each degree; sets + 1 items */
	qset_memory memory;
};

struct qset_cuda_sets
{
	qs_cuda *gpu;
	uint64_t sets;
	uint64_t elements;
	uint64_t universe;
	uint64_t *offset;  /* sets + 1 items */
	uint32_t *element; /* ascending within a set */
	qset_index index;  /* index for searches that have this collection as columns */
	uint64_t largest;  /* elements of the largest set */
	uint64_t last;     /* the offset that was written last */
	qset_memory memory;
};

/* True if the lists have set numbers of 2 bytes. */
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
	uint64_t width; /* counts of a row: the number of columns, rounded up to QSET_TILE */
};

/*
 * The numbers of rows and columns of a product are rounded up to multiples of QSET_TILE, and its
 * bits to multiples of QSET_BIT_WORDS words.
 */
#define QSET_TILE      128
#define QSET_BIT_WORDS 16

/*
 * qset_workspace() returns workspace within the device's memory limit.  qset_device_room() returns
 * how many bytes may still be allocated.
 */
extern qb_status qset_workspace(qs_cuda *gpu, uint64_t bytes, uint8_t **pointer);
extern qb_status qset_device_room(qs_cuda *gpu, uint64_t *bytes);

/*
 * Copy memory from the device of "from" to the device of "to", in order with the kernels of both
 * devices.
 */
extern qb_status qset_peer_copy(qset_cuda_sets *to, void *at, const qset_cuda_sets *from,
								const void *pointer, uint64_t bytes);

/* ---- sets.cu: the index ---- */

extern qb_status qset_index_make(qset_cuda_sets *s);
extern qb_status qset_index_copy(qset_cuda_sets *to, const qset_cuda_sets *from);
extern void qset_index_free(qset_cuda_sets *s);

/* Set number[i] to i.  As bits->column, these numbers give a column of bits to each element. */
extern qb_status qset_number_all(qs_cuda *gpu, uint32_t *number, uint64_t count);

/*
 * Return the method for a request whose columns have an index.  For hybrid, *degree becomes the
 * least degree of elements with columns of bits.
 */
extern int
qset_choose_method(const qset_cuda_request *r, bool tail, uint64_t *degree, double *expected_ms);

/* ---- sets_product.cu ---- */

/*
 * Bit matrices, with a column of bits for every element or for every element of at least a given
 * degree.
 */
struct qset_bits
{
	uint32_t *column; /* for each element: its column of bits, or UINT32_MAX */
	uint32_t *end;    /* for each element: end of its list, or 0 if it has a column of bits */
	uint64_t columns; /* number of columns of bits */
	uint64_t words;   /* words of a set's bits, a multiple of QSET_BIT_WORDS */
	uint32_t *row;    /* bits of the rows, with memory for whole tiles from any row on */
	uint32_t *other;  /* bits of the columns; within one collection equal to "row" */
};

/*
 * Give a column of bits to each element of at least this degree: fill bits->column and bits->end.
 */
extern qb_status qset_bits_choose(qs_cuda *gpu, const qset_cuda_sets *columns, uint64_t degree,
								  const qset_bits *bits);

/* Fill a zeroed matrix with the bits of a collection's sets. */
extern qb_status
qset_bits_fill(qs_cuda *gpu, const qset_cuda_sets *s, const qset_bits *bits, uint32_t *matrix);

/*
 * strip = product of its rows with all columns.  With "tail" only tiles that have a column behind
 * one of their rows are computed.
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

/*
 * Set *words to the size of the table in words, for strips of "rows" rows; 0: no table is needed.
 */
extern qb_status
qset_probe_words(qs_cuda *gpu, const qset_pairwise *p, uint64_t rows, uint64_t *words);

/*
 * Count the strip's pairs, one pair after another.  The caller has set all counts to 0.  Pairs that
 * cannot pass are not counted.
 */
extern qb_status qset_pairwise_count(qs_cuda *gpu, const qset_pairwise *p, const qset_strip *strip);

/* ---- sets_rows.cu ---- */

/* The output of qset_rows_run(). */
struct qset_output
{
	qset_pair *pair;
	uint64_t room;
	uint64_t *start;  /* for each unit: index of its first pair */
	uint32_t *found;  /* for each unit: number of its pairs */
	uint64_t *cursor; /* number of pairs so far, including pairs that did not fit */
	bool start_given; /* start[] is input; a unit's pairs are written from start[unit] - base on */
	uint64_t base;
	uint64_t first_unit; /* the first unit of this launch */
	uint64_t units;
};

struct qset_rows
{
	const qset_cuda_sets *rows;
	const qset_cuda_sets *columns;
	bool tail;           /* only columns behind the row */
	bool same;           /* within one collection */
	bool lists;          /* add the lists of the index */
	bool into_strip;     /* only write counts to the strip, and no pairs */
	const uint32_t *end; /* ends of the lists; NULL: whole lists */
	qset_filter filter;
	uint32_t block_columns; /* columns of a unit */
	uint32_t blocks;
	int threads;
	uint64_t shared; /* bytes of shared memory */
};

/* Choose the number of threads of a block, and the number of columns of a unit. */
extern void qset_rows_plan(qs_cuda *gpu, qset_rows *r);

/*
 * Count and filter the pairs of all units.  A unit is a row and a block of columns.  strip->count
 * is NULL if no counts were computed before.
 */
extern qb_status
qset_rows_run(qs_cuda *gpu, const qset_rows *r, const qset_strip *strip, const qset_output *out);

/*
 * Copy all pairs to "to" in the order of the units, unless some pairs did not fit into "out".
 * offset[unit] becomes the index of a unit's first pair, and offset[units] the number of all pairs.
 */
extern qb_status qset_rows_order(qs_cuda *gpu, const qset_output *out, uint64_t *offset,
								 uint64_t units, qset_pair *to);

#endif
