/*
 * pairs.h
 *		All pairs: plan, shards of rows, best pairs of each row; the best pairs of one set.
 *
 * src/sets/pairs.h
 */
#ifndef QS_PAIRS_H
#define QS_PAIRS_H

#include "sets/collection.h"

/*
 * ---- how sets are intersected: the methods and their names ----
 *
 * The index and the hybrid count all pairs of a row together.  Only an index of prefixes counts its
 * candidates one by one.  The other methods are the paper's techniques for single pairs, and exist
 * for comparison, except for bitmaps of all sets.  "auto" chooses the index, the hybrid or, for a
 * few large sets, bitmaps of all sets.
 */

typedef enum qset_method
{
	QSET_AUTO,
	QSET_MERGE, /* QSET_MERGE to QSET_BITMAP are the paper's techniques: techniques.c */
	QSET_SEARCH,
	QSET_MERGE_SEARCH,
	QSET_HASH,
	QSET_MERGE_HASH,
	QSET_BITMAP,
	QSET_INDEX, /* QSET_INDEX and QSET_HYBRID are only for all pairs */
	QSET_HYBRID,
	QSET_METHODS
} qset_method;

/* Return the name of a method, such as "auto" or "merge", or NULL. */
extern const char *qset_method_name(int method);

/* Return the method with this name, or -1. */
extern int qset_method_of(const char *name);

/* ---- the best pairs of a set ---- */

/*
 * A heap of the best pairs, whose root is the worst of these pairs.  A full heap rejects most pairs
 * after one comparison with the root.
 */
typedef struct qset_best
{
	qset_pair *pair; /* in memory of the caller */
	uint64_t room;   /* the greatest number of pairs, at least 1 */
	uint64_t count;
	qset_order order;
	uint64_t size; /* size of the set to which all pairs belong */
} qset_best;

/* Keep a pair if it is among the best so far. */
extern void qset_best_offer(qset_best *best, const qset_pair *pair);

/* Sort the pairs, the best first.  "memory" is used only for pauses. */
extern void qset_best_sort(qset_best *best, const qb_memory *memory);

/*
 * ---- all pairs of one collection or of two collections that pass a filter ("MISI") ----
 *
 * Several processes can find the pairs together, in three steps:
 *
 *	qset_prepare()	measures, chooses the method (plan.c) and says how many bytes
 *					the prepared input takes
 *	qset_fill()		writes the input into one block without pointers, so that
 *					the block may lie in shared memory (block.h)
 *	qset_job_...()	any number of jobs work on the block, each on its shard of the
 *					rows, and return pairs sorted by a, then b
 *
 * A "row" is a set of the first collection, and a "column" is a set of the second collection.  A
 * pair within one collection is a row and a later column, unless the request is directed.  Sets
 * that are too small to pass are dropped before rows and columns are numbered.  In addition to the
 * block a job has one row of counters, never a matrix.
 *
 * "top" compares each set with all other sets, so within one collection a pair may be found for
 * both of its sets.  After all shards, qset_finish_top() orders each pair so that a < b, and drops
 * duplicates.
 */

/* A variant of a method.  QSET_VARIANT_AUTO chooses the variant by cost. */
typedef enum qset_variant
{
	QSET_VARIANT_AUTO,
	QSET_VARIANT_OFF, /* QSET_INDEX: all elements; QSET_BITMAP: one bitmap at a time (BI-dynamic) */
	QSET_VARIANT_ON   /* QSET_INDEX: only prefixes; QSET_BITMAP: bitmaps of all sets (BI-naive) */
} qset_variant;

typedef struct qset_request
{
	const qset_collection *rows;
	const qset_collection *columns; /* NULL: pairs within rows */
	qset_filter filter;
	int method;    /* qset_method */
	int variant;   /* qset_variant */
	bool directed; /* within one collection: compare each set with all other sets; implied by top */
	uint64_t memory_limit; /* the maximum size of the block in bytes; 0: no limit */
	const qb_memory *memory;
} qset_request;

typedef struct qset_plan
{
	int method;
	bool prefix;   /* index of prefixes, whose candidates are counted one by one */
	bool resident; /* the block has the bitmaps of all sets */
	bool tail;     /* within one collection: count only later columns */
	uint64_t rows;
	uint64_t columns;
	uint64_t row_elements; /* elements of the kept rows that the columns' collection has */
	uint64_t column_elements;
	uint64_t universe;
	uint64_t events;        /* number of pairs of equal elements, each a step of the index */
	uint64_t prefix_events; /* steps of the index of prefixes; UINT64_MAX: prefixes are not made */
	uint64_t heavy;         /* number of elements that the hybrid stores as columns of bits */
	uint64_t light_events;  /* events of the hybrid's lists */
	uint64_t bytes;         /* size of the block in bytes */

	/*
	 * cost[] has the estimated time of each method on one processor in ns, or -1 if the method is
	 * not possible.  memory[] has the size of each method's block in bytes.  The costs of
	 * QSET_MERGE to QSET_MERGE_HASH are only guesses.
	 */
	double cost[QSET_METHODS];
	double build[QSET_METHODS]; /* part of cost[] that one process spends before the first row */
	uint64_t memory[QSET_METHODS];
} qset_plan;

/*
 * The rows or the columns, as qset_prepare() measures them.  Private to measure.c, plan.c, block.c
 * and prefix.c.
 */
typedef struct qset_side
{
	const qset_collection *collection;
	const uint32_t *map; /* from the collection's ranks to the columns' ranks; NULL: equal ranks */
	uint32_t *kept;      /* numbers of the kept sets */
	uint64_t sets;       /* number of kept sets */
	uint64_t elements;   /* elements of the kept sets that the columns' collection has */
	uint64_t largest;    /* size of the largest kept set */
	uint64_t signature_words; /* words of all signatures of the kept sets */
	uint64_t *prefix_offset;  /* begin of each set's prefix, then the end; NULL: no prefixes */
	uint32_t *prefix;         /* elements of all prefixes, as numbers by rarity */
	uint64_t prefix_elements;
} qset_side;

/* All elements of one degree: their number, and the number of times that rows have them. */
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
	uint32_t *degree;        /* number of kept columns of each element */
	uint32_t *row_degree;    /* number of kept rows of each element; may be "degree" */
	qset_bin *bin;           /* indexed by degree */
	uint32_t *rarity;        /* for each element: its number by rarity; NULL: not made */
	uint32_t *prefix_degree; /* by rarity: number of columns whose prefix has the element */
	uint64_t *buffer;        /* 12 bytes for each element of the largest row and largest column */
	uint64_t heavy_degree;   /* hybrid: the least degree of a heavy element */
} qset_preparation;

/*
 * Return the bytes that suffice for every method, except for bitmaps of all sets: a few times the
 * size of the collections.  If the bitmaps of all sets do not fit, method bitmap makes one bitmap
 * at a time.
 */
extern uint64_t qset_memory_enough(const qset_request *request);

/*
 * Measure and plan.  QB_BAD_METHOD: request->method is out of range.  QB_TOO_MANY: a collection has
 * more than QSET_MAX_SETS sets.  QB_MISMATCH: the collections have different types of keys.
 * QB_NO_ROOM: the requested method, or every method that "auto" may choose, exceeds memory_limit.
 * Call qset_prepared_free() also after an error.  The collections must remain allocated until
 * qset_fill() has returned.
 */
extern qb_status qset_prepare(qset_preparation *p, const qset_request *request);
extern void qset_prepared_free(qset_preparation *p);

/* Write the block into p->plan.bytes zeroed bytes, aligned to 8 bytes. */
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
	int64_t patience; /* steps until the next pause, or the next call of interrupt->stop */

	/* the shard: rows row, row + step, ... below end; "row" is the current row */
	uint64_t row;
	uint64_t end;
	uint64_t step;
	bool counted; /* true: the current row's counters are set */

	/* the counters of the row's columns, 2 or 4 bytes each */
	void *count;
	uint32_t from;  /* the first counted column */
	uint32_t next;  /* the next column whose counter is read */
	uint32_t least; /* columns with a smaller counter do not pass */
	uint64_t most;  /* columns with more elements do not pass */

	/* columns that may pass, their number, and index of the next column to return */
	uint32_t *found;
	uint32_t found_count;
	uint32_t found_next;

	/* arrays that only the named methods use */
	uint64_t *seen;           /* prefix: a bit for each column, set if the column was found */
	uint64_t *bits;           /* bitmap, prefix: the row's bitmap */
	qset_hash hash;           /* hash: the row's table */
	const uint64_t **columns; /* hybrid: the columns of bits of the row's heavy elements */
	qset_best best;           /* top: the best pairs, then space for sorting them by b */
	uint64_t best_next;       /* index of the next pair to return */
} qset_job;

/*
 * Open a job on a filled block.  Call qset_job_close() also after an error.  Where other functions
 * pause, a job calls interrupt->stop(), unless "interrupt" is NULL.  If the call returns true, the
 * job ends with QB_CANCELLED.
 */
extern qb_status qset_job_open(qset_job *job, const void *block, const qset_kernels *kernels,
							   const qb_memory *memory, const qset_interrupt *interrupt);
extern void qset_job_close(qset_job *job);

/* Return the number of rows of the block. */
extern uint64_t qset_job_rows(const qset_job *job);

/* Set the job's shard to the rows first, first + step, ... below end. */
extern void qset_job_shard(qset_job *job, uint64_t first, uint64_t end, uint64_t step);

/*
 * Cut all rows into ranges of about the same work.  Shard i is rows first[i] .. first[i + 1] - 1,
 * and may be empty.  "first" has shards + 1 elements.
 */
extern qb_status qset_job_split(qset_job *job, uint64_t *first, uint64_t shards);

/*
 * Cut rows like qset_job_split(), but without a job.  steps_of() returns the steps of a row, at
 * least 1, or 0 to stop.
 */
extern qb_status qset_cut_rows(uint64_t rows, uint64_t (*steps_of)(void *context, uint64_t row),
							   void *context, uint64_t *first, uint64_t shards);

/* Return the row of a set of the first collection, or -1 if the set is too small for any pair. */
extern int64_t qset_job_row_of(const qset_job *job, uint32_t set);

/*
 * Write the next pairs, at most "room", sorted by a, then b.  a and b are numbers of sets of the
 * collections.  *count = 0: the shard is done.
 */
extern qb_status qset_job_next(qset_job *job, qset_pair *out, uint64_t room, uint64_t *count);

/*
 * Finish the pairs that jobs with "top" found within one collection: order each pair so that a < b,
 * sort by a, then b, and drop duplicates.  "scratch" has space for "count" pairs.  Returns the
 * number of pairs that remain.
 */
extern uint64_t qset_finish_top(qset_pair *pair, uint64_t count, qset_pair *scratch);

/*
 * ---- the sets that are most similar to one set ----
 *
 * A question is a set, and its answer is the best pairs of this set and a set of the collection.
 * Postings are lists of sets, one list for each element.  An answer reads only the lists of the
 * question's elements.  The sets are counted block by block, so that a block's counters stay in the
 * cache while all lists are added to them.
 *
 *	begin[0 .. universe]	element r is in sets list[begin[r] .. begin[r + 1] - 1]
 *	list[0 .. elements-1]	ascending for each element
 *
 * Making the lists takes longer than one answer without lists.  So a question can also be answered
 * from the collection, which is then read completely.  The postings and the collection give equal
 * answers.
 */

typedef struct qset_question
{
	const uint32_t *rank; /* ranks of the set's elements that the collection has */
	uint64_t ranks;
	uint64_t size;  /* number of all elements of the set */
	int64_t itself; /* number of the set in the collection, never in the answer; -1: none */
	qset_filter filter;
	uint64_t most; /* maximum number of pairs of an answer; QB_NO_ROOM: the answer has more */
} qset_question;

typedef struct qset_postings
{
	qset_collection collection;
	uint64_t *begin;
	uint32_t *list;
} qset_postings;

/* Return the bytes of the postings of a collection with these sizes. */
extern uint64_t qset_postings_memory(const qset_collection *sizes);

/*
 * Make the postings of a collection.  The postings take over the collection, also after an error.
 * All memory comes from the collection's "memory".
 */
extern qb_status qset_postings_make(qset_postings *p, qset_collection *collection);
extern void qset_postings_free(qset_postings *p);

/* Set the elements, the size and "itself" of a question to a set of the collection. */
extern void qset_question_of_set(qset_question *q, const qset_collection *c, uint64_t set);

/*
 * Answer a question by the postings, or by the collection.  Sets *best to the pairs, the best
 * first, in memory from "memory".  In each pair a is 0.  *best is valid only after QB_OK.
 */
extern qb_status
qset_postings_answer(const qset_postings *p, const qset_question *q, const qset_kernels *kernels,
					 qset_best *best, const qb_memory *memory);
extern qb_status qset_collection_answer(const qset_collection *c, const qset_question *q,
										qset_best *best, const qb_memory *memory);

#endif
