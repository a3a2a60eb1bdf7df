/*
 * sets.cuh
 *		What the files of the CUDA engine for sets share on the host side.
 *
 * Counts of common elements are made a *strip* of rows at a time:
 *
 *	sets_product.cu		a strip of counts from bit matrices
 *	sets_techniques.cu	a strip of counts, one pair after another (the paper)
 *	sets_rows.cu		adds the lists of the inverted index to what is in the
 *						strip, one row at a time, and hands out what passes
 *
 * so every method ends in the same kernel: index has no strip, hybrid both, the
 * others no lists.
 *
 * cuda/sets.cuh
 */
#ifndef QSET_SETS_CUH
#define QSET_SETS_CUH

#include "device.cuh"
#include "sets_cuda.h"

/* The inverted index: for each element the sets that have it, ascending. */
struct qset_index
{
	uint32_t *start; /* universe + 1 */
	uint2 *rest;     /* elements: where in the lists the sets behind its own begin, and end */
	void *list;      /* elements: sets, of 2 bytes while these suffice, else 4 */
	bool made;
};

struct qset_cuda_sets
{
	qs_cuda *gpu;
	uint64_t sets;
	uint64_t elements;
	uint64_t universe;
	uint64_t *offset;  /* sets + 1 */
	uint32_t *element; /* ascending within a set */
	qset_index index;  /* of this collection as columns */
	uint64_t largest;  /* elements of the largest set */
	uint64_t last;     /* offset that was put in last */
	uint64_t bytes;    /* held */
	uint64_t *bin;     /* host: elements by degree, sets + 1; with the index */
};

/* Sets are numbered in 2 bytes? */
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
	uint64_t width; /* counts of a row, the columns rounded up */
};

/* Rows and columns of a product come in tiles of this many, its bits in steps of so many words. */
#define QSET_TILE      128
#define QSET_BIT_WORDS 16

/* Memory of a collection or a search, counted. */
extern qb_status qset_device_alloc(qs_cuda *gpu, uint64_t *held, uint64_t bytes, void **pointer);
extern void qset_device_free(qs_cuda *gpu, uint64_t *held, void *pointer, uint64_t bytes);

/* The workspace, within the limit, too; and how much may still be allocated. */
extern qb_status qset_workspace(qs_cuda *gpu, uint64_t bytes, uint8_t **pointer);
extern qb_status qset_device_room(qs_cuda *gpu, uint64_t *bytes);

/* From a collection's device to another's, in the order of the latter's kernels. */
extern qb_status qset_peer_copy(qset_cuda_sets *to, void *at, const qset_cuda_sets *from,
								const void *pointer, uint64_t bytes);

/* ---- sets_index.cu ---- */

extern qb_status qset_index_make(qset_cuda_sets *s);
extern qb_status qset_index_copy(qset_cuda_sets *to, const qset_cuda_sets *from);
extern void qset_index_free(qset_cuda_sets *s);

/* ---- sets_choice.cu ---- */

/* The method for a request whose columns have their index; hybrid: from which degree on bits. */
extern int
qset_choose_method(const qset_cuda_request *r, bool tail, uint64_t *degree, double *expected_ms);

/* ---- sets_product.cu ---- */

/* Elements as columns of bits: those of a degree, or a range of them. */
struct qset_bits
{
	uint32_t *column; /* universe: the element's bit, or UINT32_MAX */
	uint32_t *end;    /* universe: end of the lists of all other elements, else 0 */
	uint64_t columns; /* how many */
	uint64_t words;   /* of a set's bits, a multiple of QSET_BIT_WORDS */
	uint32_t *row;    /* the rows' bits, with room for whole tiles from any row on */
	uint32_t *other;  /* the columns', or the same */
};

/* Elements of at least this degree: fill column and end. */
extern qb_status qset_bits_choose(qs_cuda *gpu, const qset_cuda_sets *columns, uint64_t degree,
								  const qset_bits *bits);

/* Elements first .. first + count - 1: fill column. */
extern qb_status qset_bits_range(qs_cuda *gpu, const qset_cuda_sets *columns, uint64_t first,
								 uint64_t count, const qset_bits *bits);

/* Fill a zeroed matrix with the bits of a collection's sets. */
extern qb_status
qset_bits_fill(qs_cuda *gpu, const qset_cuda_sets *s, const qset_bits *bits, uint32_t *matrix);

/* strip = the product of its rows with all columns; with "tail" only what later columns need. */
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
	uint32_t *table; /* of methods that probe one */
};

/* Bytes of that table, for strips of so many rows; 0: none. */
extern qb_status
qset_probe_bytes(qs_cuda *gpu, const qset_pairwise *p, uint64_t rows, uint64_t *bytes);

/* strip = the counts of all its pairs, one after another. */
extern qb_status qset_pairwise_count(qs_cuda *gpu, const qset_pairwise *p, const qset_strip *strip);

/* ---- sets_rows.cu ---- */

/* Where pairs that pass go. */
struct qset_output
{
	qset_pair *pair;
	uint64_t room;
	uint64_t *start;  /* of each unit: where its pairs begin */
	uint32_t *found;  /* how many */
	uint64_t *cursor; /* pairs that there are, also where they found no room */
	bool placed;      /* start is given, less this ... */
	uint64_t base;
	uint64_t first_unit; /* the units to be made */
	uint64_t units;
};

struct qset_rows
{
	const qset_cuda_sets *rows;
	const qset_cuda_sets *columns;
	bool tail;           /* later columns only */
	bool same;           /* within one collection */
	bool lists;          /* add those of the index */
	bool into_strip;     /* to the strip only, and hand out nothing */
	const uint32_t *end; /* of the lists; NULL: all of them */
	qset_filter filter;
	uint32_t block_columns; /* columns whose counters are held at a time */
	uint32_t blocks;
	int threads;
	uint64_t shared; /* bytes */
};

/* Choose blocks of threads and of columns. */
extern void qset_rows_plan(qs_cuda *gpu, qset_rows *r);

/* Count and filter; a unit is a row and a block of columns.  "strip" is without counts for index. */
extern qb_status
qset_rows_run(qs_cuda *gpu, const qset_rows *r, const qset_strip *strip, const qset_output *out);

/*
 * Bring units into order, if their pairs have all found room: place[unit] is where
 * each one's pairs belong, place[units] how many all are.
 */
extern qb_status qset_rows_order(qs_cuda *gpu, const qset_output *out, uint64_t *place,
								 uint64_t units, qset_pair *to);

#endif
