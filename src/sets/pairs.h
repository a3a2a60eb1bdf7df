/*
 * pairs.h
 *		All pairs: planning, counting a shard of the rows, and the best pairs of each row;
 *		and the best pairs of one set.
 *
 * src/sets/pairs.h
 */
#ifndef QS_PAIRS_H
#define QS_PAIRS_H

#include "sets/collection.h"

/*
 * ---- how sets are intersected: the methods and their names ----
 *
 * The index and the hybrid find all pairs.  The other methods are the paper's techniques for single
 * pairs.  Except for the bitmaps of all sets, they exist for comparison.  "auto" takes the index,
 * the hybrid or, for a few large sets, these bitmaps.
 */

/* Names: qset_method_name(). */
typedef enum qset_method
{
	QSET_AUTO,
	QSET_MERGE, /* merge to bitmap are the paper's techniques: techniques.c */
	QSET_SEARCH,
	QSET_MERGE_SEARCH,
	QSET_HASH,
	QSET_MERGE_HASH,
	QSET_BITMAP,
	QSET_INDEX, /* index and hybrid are only for all pairs */
	QSET_HYBRID,
	QSET_METHODS
} qset_method;

/* "auto", "merge", ..., or NULL. */
extern const char *qset_method_name(int method);

/* The method with this name, or -1. */
extern int qset_method_of(const char *name);

/* ---- the best pairs of a set ---- */

/*
 * A heap whose root is the worst pair that is kept.  Once it is full, most pairs are refused
 * after one comparison with the root.
 */
typedef struct qset_best
{
	qset_pair *pair; /* the caller's memory */
	uint64_t room;   /* the most pairs that are kept, at least 1 */
	uint64_t count;
	qset_order order;
	uint64_t size; /* size of the set whose pairs these are */
} qset_best;

/* Keep a pair if it is among the best so far. */
extern void qset_best_offer(qset_best *best, const qset_pair *pair);

/* Sort the pairs, the best first.  "memory" is only used to pause. */
extern void qset_best_sort(qset_best *best, const qb_memory *memory);

/*
 * ---- all pairs of a collection, or of two, that pass a filter ("MISI") ----
 *
 * Three steps, so that several processes can share the work:
 *
 *	qset_prepare()	measures, chooses the method (plan.c) and says how many bytes
 *					the prepared input takes
 *	qset_fill()		writes it into one block of memory, without pointers, so that
 *					the block may lie in shared memory (block.h)
 *	qset_job_...()	any number of jobs work on the block, each on its shard of the
 *					rows, and hand out pairs in the order of a, then b
 *
 * A "row" is a set of the first collection, a "column" one of the second;
 * pairs within one collection are a row and a later column.  Sets that are too
 * small to pass are left out before rows and columns are numbered.  Beside the
 * block a job holds one row of counters, never a matrix.
 *
 * "top" compares each set with all others, so within one collection a pair may
 * come from both of its sets.  When all shards are done, qset_finish_top()
 * leaves the pairs a < b that are among the best of a or of b, each once.
 */

/* A choice within a method; "auto" decides it by cost. */
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
	bool directed;         /* within one collection: each set against all others; implied by top */
	uint64_t memory_limit; /* the most bytes of the block; 0: no limit */
	const qb_memory *memory;
} qset_request;

typedef struct qset_plan
{
	int method;
	bool prefix;   /* index of prefixes, with the counts made by merging */
	bool resident; /* all bitmaps at once */
	bool tail;     /* within one collection: only later columns */
	uint64_t rows;
	uint64_t columns;
	uint64_t row_elements; /* elements of the kept rows that some column has */
	uint64_t column_elements;
	uint64_t universe;
	uint64_t events;        /* steps of the index: pairs of equal elements */
	uint64_t prefix_events; /* steps of the index of prefixes; UINT64_MAX: not considered */
	uint64_t heavy;         /* elements that hybrid keeps as columns of bits */
	uint64_t light_events;  /* events left to the hybrid's lists */
	uint64_t bytes;         /* bytes of the block */

	/*
	 * For each method: estimated ns on one processor (cost < 0: not possible), and bytes.  The
	 * costs of QSET_MERGE to QSET_MERGE_HASH are only guesses.
	 */
	double cost[QSET_METHODS];
	double build[QSET_METHODS]; /* part of the cost: work before the first row, by one process */
	uint64_t memory[QSET_METHODS];
} qset_plan;

/* What qset_prepare() learns about one side.  Private to measure.c, plan.c and block.c. */
typedef struct qset_side
{
	const qset_collection *collection;
	const uint32_t *map;      /* rank here -> rank of the columns; NULL: the ranks are equal */
	uint32_t *kept;           /* numbers of the sets kept */
	uint64_t sets;            /* how many sets are kept */
	uint64_t elements;        /* elements of the kept sets that the columns have */
	uint64_t largest;         /* size of the largest kept set */
	uint64_t signature_words; /* words of all signatures of the kept sets */
	uint64_t *prefix_offset;  /* NULL: no prefixes */
	uint32_t *prefix;         /* elements of the prefixes: numbers by rarity */
	uint64_t prefix_elements;
} qset_side;

/* All elements of one degree: their number, and how often rows have them. */
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
	qset_side column; /* equal to "row" within one collection */
	uint32_t *map;
	uint32_t *degree;        /* for each element: how many kept columns have it */
	uint32_t *row_degree;    /* how many kept rows have it; within one collection "degree" */
	qset_bin *bin;           /* by degree */
	uint32_t *rarity;        /* for each element: its number by rarity; NULL: not made yet */
	uint32_t *prefix_degree; /* by rarity: how many columns' prefixes have the element */
	uint64_t *buffer;        /* room for three of the largest sets, 4 bytes an element */
	uint64_t heavy_degree;   /* hybrid: the least degree of a heavy element */
} qset_preparation;

/*
 * Bytes that suffice for every method: a few times the size of the
 * collections.  Only the bitmaps of all sets at once may need more.  Without room for these, method
 * bitmap makes one bitmap at a time.
 */
extern uint64_t qset_memory_enough(const qset_request *request);

/*
 * Measure and plan.  QB_MISMATCH: the collections have keys of different
 * kinds.  QB_NO_ROOM: no method fits in memory_limit, or the requested method does not.  Call
 * qset_prepared_free() in any case.  The collections must
 * stay until qset_fill() is done.
 */
extern qb_status qset_prepare(qset_preparation *p, const qset_request *request);
extern void qset_prepared_free(qset_preparation *p);

/* Write the block into p->plan.bytes zeroed bytes, aligned to 8. */
extern qb_status qset_fill(qset_preparation *p, void *block);

/* A callback that says whether a job is to stop. */
typedef struct qset_interrupt
{
	bool (*stop)(void *context);
	void *context;
} qset_interrupt;

typedef struct qset_job
{
	const uint8_t *block;
	const struct qset_block *head;
	const qset_kernels *kernels;
	const qb_memory *memory;
	const qset_interrupt *interrupt;
	int64_t patience; /* steps until the job next pauses, or calls interrupt->stop */

	/* the shard of rows, and the current row */
	uint64_t row;
	uint64_t end;
	uint64_t step;
	bool counted; /* the current row's counters are made */

	/* the counters of the row's columns, 2 or 4 bytes each */
	void *count;
	uint32_t from;  /* the first counted column */
	uint32_t next;  /* the next column to look at */
	uint32_t least; /* columns with a smaller counter make no pair */
	uint64_t most;  /* columns larger than this make no pair either */

	/* columns whose counters reach "least", and how many of these were handed out */
	uint32_t *found;
	uint32_t found_count;
	uint32_t found_next;

	/* arrays of single methods */
	uint64_t *seen;           /* prefix: a bit for each column that was found already */
	uint64_t *bits;           /* bitmap, prefix: the row's bitmap */
	qset_hash hash;           /* hash: the row's table */
	const uint64_t **columns; /* hybrid: the columns of bits of the row's heavy elements */
	qset_best best;           /* top: with twice its room, to sort it by b */
	uint64_t best_next;       /* index of the next pair to hand out */
} qset_job;

/*
 * Begin to work on a filled block.  Call qset_job_close() in any case.  Where other functions
 * pause, a job calls "interrupt" unless that is NULL, and ends with QB_CANCELLED if it is to stop.
 */
extern qb_status qset_job_open(qset_job *job, const void *block, const qset_kernels *kernels,
							   const qb_memory *memory, const qset_interrupt *interrupt);
extern void qset_job_close(qset_job *job);

/* The number of rows of the block. */
extern uint64_t qset_job_rows(const qset_job *job);

/* Give the job the rows first, first + step, ... below end. */
extern void qset_job_shard(qset_job *job, uint64_t first, uint64_t end, uint64_t step);

/*
 * Cut all rows into ranges of about the same work: shard i is rows first[i] ..
 * first[i + 1] - 1, and may be empty.  "first" has room for shards + 1.
 */
extern qb_status qset_job_split(qset_job *job, uint64_t *first, uint64_t shards);

/* Cut any rows in this way.  steps_of() gives the work of a row, at least 1, or 0 to stop. */
extern qb_status qset_cut_rows(uint64_t rows, uint64_t (*steps_of)(void *context, uint64_t row),
							   void *context, uint64_t *first, uint64_t shards);

/* The row of a set of the first collection, or -1 if the set is too small for any pair. */
extern int64_t qset_job_row_of(const qset_job *job, uint32_t set);

/*
 * Write the next pairs, at most "room", in the order of a, then b; a and b are
 * numbers of sets of the collections.  *count 0: the shard is done.
 */
extern qb_status qset_job_next(qset_job *job, qset_pair *out, uint64_t room, uint64_t *count);

/*
 * Finish the pairs that jobs with "top" gave within one collection: sort by a,
 * then b, with a < b, each pair once.  "scratch" has room for "count" pairs.
 * Returns how many pairs are left.
 */
extern uint64_t qset_finish_top(qset_pair *pair, uint64_t count, qset_pair *scratch);

/*
 * ---- the sets most similar to one: lists of sets by element ----
 *
 * A question is a set, and its answer is the best pairs of this set and a set of the collection.
 * Answering adds up the lists of the question's elements, and looks at no other part of the
 * collection.  It goes through the sets block by block, so that a block's counters stay in the
 * cache while all lists are added to them.
 *
 *	begin[0 .. universe]	element r is in sets list[begin[r] .. begin[r + 1] - 1]
 *	list[0 .. elements-1]	ascending for each element
 *
 * Making the lists costs more than one answer.  So a question can also be answered from the
 * collection itself, all of which is then read.  The answers are equal.
 */

typedef struct qset_question
{
	const uint32_t *rank; /* ranks of those elements that the collection has, ascending */
	uint64_t ranks;
	uint64_t size;  /* number of all elements of the set */
	int64_t itself; /* the question's own set in the collection, which is no answer; -1: none */
	qset_filter filter;
	uint64_t most; /* the most pairs of an answer; QB_NO_ROOM if there are more */
} qset_question;

typedef struct qset_postings
{
	qset_collection collection;
	uint64_t *begin;
	uint32_t *list;
} qset_postings;

/* Bytes of the postings of a collection with these sizes. */
extern uint64_t qset_postings_memory(const qset_collection *sizes);

/*
 * Make the postings of a collection.  From then on they own the collection, whatever the result.
 * All memory comes from the collection's "memory".
 */
extern qb_status qset_postings_make(qset_postings *p, qset_collection *collection);
extern void qset_postings_free(qset_postings *p);

/* Make a question of a set of the collection. */
extern void qset_question_of_set(qset_question *q, const qset_collection *c, uint64_t set);

/*
 * Answer a question by the postings, or by the collection.  "best" gets the pairs, the best first,
 * in memory from "memory".  It gets none unless the result is QB_OK.  In each pair a is 0.
 */
extern qb_status
qset_postings_answer(const qset_postings *p, const qset_question *q, const qset_kernels *kernels,
					 qset_best *best, const qb_memory *memory);
extern qb_status qset_collection_answer(const qset_collection *c, const qset_question *q,
										qset_best *best, const qb_memory *memory);

#endif
