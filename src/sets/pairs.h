/*
 * pairs.h
 *		All pairs of a collection, or of two, that pass a filter ("MISI").
 *
 * Three steps, so that several processes can share the work:
 *
 *	qset_prepare()	measures, chooses the method (plan.c) and says how many bytes
 *					the prepared input takes
 *	qset_fill()		writes it into one block of memory, without pointers, so that
 *					the block may lie in shared memory (block.h)
 *	qset_job_...()	any number of jobs work on the block, each on its share of the
 *					rows, and hand out pairs in the order of a, then b
 *
 * A "row" is a set of the first collection, a "column" one of the second; pairs
 * within one collection are a row and a later column.  Rows and columns are
 * numbered after those too small to pass have been left out.  Memory beside the
 * block: one row of counters, never a matrix of them.
 *
 * "top" looks from each set at all others, so that within one collection a
 * pair comes from both of its sets: when all shares are done,
 * qset_finish_top() turns what they gave into the pairs a < b that are among the
 * best of a or of b.
 *
 * src/sets/pairs.h
 */
#ifndef QSET_PAIRS_H
#define QSET_PAIRS_H

#include "sets/collection.h"
#include "sets/filter.h"
#include "sets/techniques.h"

/* A choice that methods have inside: auto decides it by cost. */
typedef enum qset_variant
{
	QSET_VARIANT_AUTO,
	QSET_VARIANT_OFF, /* index: all elements; bitmap: one at a time (BI-dynamic) */
	QSET_VARIANT_ON   /* index: prefixes only; bitmap: all resident (BI-naive) */
} qset_variant;

typedef struct qset_request
{
	const qset_collection *rows;
	const qset_collection *columns; /* NULL: pairs within rows */
	qset_filter filter;
	int method;            /* qset_method */
	int variant;           /* qset_variant */
	bool directed;         /* within one: each set against all others; implied by top */
	uint64_t rows_wanted;  /* how many rows will be worked on, for the costs; 0: all */
	uint64_t memory_limit; /* bytes of the block; 0: any */
	const qb_memory *memory;
	const qset_interrupt *interrupt; /* or NULL */
} qset_request;

typedef struct qset_plan
{
	int method;
	bool prefix;   /* index of prefixes, with the counts made by merging */
	bool resident; /* all bitmaps at once */
	bool tail;     /* within one collection: only later columns */
	uint64_t rows;
	uint64_t columns;
	uint64_t row_elements; /* of the rows kept, and occurring in a column */
	uint64_t column_elements;
	uint64_t universe;
	uint64_t events;        /* steps of the index: pairs of equal elements */
	uint64_t prefix_events; /* the same with prefixes; UINT64_MAX: not considered */
	uint64_t heavy;         /* elements that hybrid keeps as columns of bits */
	uint64_t light_events;  /* events left to its lists */
	uint64_t bytes;         /* of the block */

	/* Estimated ns on one processor, and bytes, of each method; cost < 0: not possible. */
	double cost[QSET_METHODS];
	double build[QSET_METHODS]; /* of which before the first row, by one process */
	uint64_t memory[QSET_METHODS];
} qset_plan;

/* What qset_prepare() knows; private to measure.c, plan.c and block.c. */
typedef struct qset_side
{
	const qset_collection *collection;
	const uint32_t *map;     /* rank here -> rank of the columns; NULL: the same */
	uint32_t *kept;          /* numbers of the sets kept */
	uint64_t sets;           /* how many */
	uint64_t elements;       /* of theirs, those that the columns have */
	uint64_t largest;        /* size of the largest */
	uint64_t *prefix_offset; /* NULL: no prefixes */
	uint32_t *prefix;        /* elements by rarity: their number in that order */
	uint64_t prefix_elements;
} qset_side;

/* All elements of one degree: how many, and how often rows have them. */
typedef struct qset_bin
{
	uint64_t elements;
	uint64_t occurrences;
} qset_bin;

typedef struct qset_preparation
{
	qset_request request;
	qset_plan plan;
	qset_side row;
	qset_side column; /* the same as row within one collection */
	uint32_t *map;
	uint32_t *degree;        /* in how many columns kept an element is */
	uint32_t *row_degree;    /* in how many rows; the same within one collection */
	qset_bin *bin;           /* by degree */
	uint32_t *rarity;        /* elements' numbers by rarity; NULL: not needed so far */
	uint32_t *prefix_degree; /* by rarity: in how many columns' prefixes */
	uint64_t *buffer;        /* room for three of the largest sets, in 4 bytes each */
	uint64_t heavy_degree;   /* hybrid: from this degree on */
} qset_preparation;

/*
 * Bytes in which every method finds room: a few times those of the collections.
 * Only the bitmaps of all sets at once may take more; without room for them,
 * method bitmap makes them one at a time.
 */
extern uint64_t qset_memory_enough(const qset_request *request);

/*
 * Measure and plan.  QB_MISMATCH: the collections have keys of different kinds.
 * QB_NO_ROOM: no method fits in memory_limit, or the one asked for does not.
 * Call qset_prepared_free() whatever the result.  The collections must stay until
 * qset_fill() is done.
 */
extern qb_status qset_prepare(qset_preparation *p, const qset_request *request);
extern void qset_prepared_free(qset_preparation *p);

/* Write the block: p->plan.bytes zeroed bytes, aligned to 8. */
extern qb_status qset_fill(qset_preparation *p, void *block);

typedef struct qset_job
{
	const uint8_t *block;
	const struct qset_block *head;
	const qset_kernels *kernels;
	const qb_memory *memory;
	const qset_interrupt *interrupt;
	int64_t patience;

	/* the share of rows, and where it is */
	uint64_t row;
	uint64_t end;
	uint64_t step;
	bool counted; /* the row's counters are there */

	/* counters of the row's columns, of 2 or 4 bytes */
	void *count;
	uint32_t from;  /* first column that was counted */
	uint32_t next;  /* next column to be looked at */
	uint32_t least; /* counters below this are no pairs */
	uint64_t most;  /* and columns larger than this */

	/* columns whose counters reach it, and how far they have been handed out */
	uint32_t *found;
	uint32_t found_count;
	uint32_t found_next;

	/* what some methods need */
	uint32_t *stamp;          /* prefix: the last visit that saw a column */
	uint32_t visit;           /* rows counted so far */
	uint64_t *bits;           /* bitmap: of the row */
	qset_hash hash;           /* hash: of the row */
	const uint64_t **columns; /* hybrid: of the row's heavy elements */
	qset_pair *best;          /* top: a heap, the worst first, and room to sort it */
	uint64_t best_room;
	uint64_t best_count;
	uint64_t best_next; /* being handed out; then sorted by b */
	bool best_ready;
} qset_job;

/* Begin to work on a filled block; needs qset_job_close(), whatever the result. */
extern qb_status qset_job_open(qset_job *job, const void *block, const qset_kernels *kernels,
							   const qb_memory *memory, const qset_interrupt *interrupt);
extern void qset_job_close(qset_job *job);

/* Rows of the block. */
extern uint64_t qset_job_rows(const qset_job *job);

/* Take on rows first, first + step, ... below end. */
extern void qset_job_share(qset_job *job, uint64_t first, uint64_t end, uint64_t step);

/*
 * Cut all rows into ranges of about the same work: share i is rows first[i] ..
 * first[i + 1] - 1, and may be empty.  "first" has room for shares + 1.
 */
extern qb_status qset_job_split(qset_job *job, uint64_t *first, uint64_t shares);

/*
 * The row of a set of the first collection, or -1 if it is too small for any
 * pair.
 */
extern int64_t qset_job_row_of(const qset_job *job, uint32_t set);

/*
 * The next pairs, up to "room" of them, in the order of a, then b; a and b are
 * numbers of sets of the collections.  *count 0: the share is done.
 */
extern qb_status qset_job_next(qset_job *job, qset_pair *out, uint64_t room, uint64_t *count);

/*
 * Pairs that jobs with "top" gave within one collection: sorted by a, then b,
 * a < b, each once.  "scratch" has room for as many.  Returns how many are left.
 */
extern uint64_t qset_finish_top(qset_pair *pair, uint64_t count, qset_pair *scratch);

#endif
