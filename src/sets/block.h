/*
 * block.h
 *		The prepared input of all pairs, in one memory block without pointers.
 *
 * A head gives each array's offset in bytes from the start; 0 means that the array does not exist.
 * The method decides which arrays exist.  For k rows or columns:
 *
 *	all				set, size [k]		number and size in the collection
 *	index, hybrid	row_start [k + 1]	index of the row's first entry
 *					entry []			slice of a list: position and length
 *					list []				columns that have the element, ascending
 *	hybrid			heavy_start [k + 1]	index of the row's first heavy element
 *					heavy []			heavy elements of the rows
 *					bits []				each heavy element's column of bits
 *	pairwise unless resident, and index of prefixes
 *					offset [k + 1], rank []		the sets
 *	index of prefixes
 *					column_signed [k], signature []		the columns' signatures (filter.h)
 *	bitmap, resident	bits_of [k]		the sets as bitmaps
 *
 * With "tail" a row needs only later columns.  So the row's entry for an element has only the
 * columns after the row, at the end of the element's list.  A row that is last in a list has no
 * entry for this list.  The index of prefixes sorts the columns of a list by size, and an entry is
 * a window of a list (prefix.c).
 *
 * src/sets/block.h
 */
#ifndef QSET_BLOCK_H
#define QSET_BLOCK_H

#include "sets/pairs.h"

/*
 * An entry has a position in "list" and a number of columns.  The number of columns has
 * QSET_LENGTH_BITS bits.
 */
#define QSET_LENGTH_BITS 28

QB_INLINE uint64_t
qset_entry(uint64_t at, uint64_t length)
{
	return at << QSET_LENGTH_BITS | length;
}

/* The number of sets of one side, and the offsets of its arrays. */
typedef struct qset_block_side
{
	uint64_t sets;
	uint64_t set;
	uint64_t size;
	uint64_t offset;
	uint64_t rank;
	uint64_t bits_of;
} qset_block_side;

typedef struct qset_block
{
	int32_t method;
	bool prefix;
	bool resident;
	bool tail;
	bool same;      /* rows and columns are one collection */
	bool wide_list; /* columns in "list" have 4 bytes, else 2 */
	bool wide_row;  /* counters have 4 bytes, else 2 */
	qset_filter filter;
	qset_block_side row;
	qset_block_side column;
	uint64_t row_start;
	uint64_t entry;
	uint64_t list;
	uint64_t column_signed;
	uint64_t signature;
	uint64_t heavy_start;
	uint64_t heavy;
	uint64_t bits;
	uint64_t fraction;     /* t of the filter times 2^32, for the sieve of signatures */
	uint64_t bit_words;    /* words of one heavy element's column, a multiple of QSET_BLOCK_WORDS */
	uint64_t bitmap_words; /* words of one bitmap over the universe */
	uint64_t most_heavy;   /* upper bound of a row's heavy elements */
	uint64_t largest_row;  /* the largest number of elements of a row */
	uint64_t largest_column;
	uint64_t bytes;
} qset_block;

/*
 * Return the length of a row's array of counters: the number of columns, rounded up to a multiple
 * of QSET_BLOCK.
 */
QB_INLINE uint64_t
qset_row_room(const qset_block *b)
{
	return (b->column.sets + QSET_BLOCK - 1) / QSET_BLOCK * QSET_BLOCK;
}

/*
 * Return the elements of kept set i, as ranks in the collection of the columns.  *count is the
 * number of elements.  Elements outside the collection of the columns are dropped.  The next call
 * may overwrite the array.
 */
extern const uint32_t *
qset_side_elements(const qset_preparation *p, const qset_side *s, uint64_t i, uint64_t *count);

/* Fill the head of a block for the plan's method: all sizes and offsets. */
extern void qset_block_layout(const qset_preparation *p, const qset_plan *plan, qset_block *b);

/* Write the head and the arrays of the block, except for the index of prefixes. */
extern qb_status qset_block_fill(const qset_preparation *p, void *block);

/* prefix.c: write the index of prefixes, after the other arrays. */
extern qb_status qset_fill_windows(const qset_preparation *p, const qset_block *b, uint8_t *block);

/*
 * Count steps of about a nanosecond each.  After QSET_PATIENCE steps call interrupt->stop(), or
 * pause if the job has no interrupt.  False: the job must stop.
 */
QB_INLINE bool
qset_spend(qset_job *job, uint64_t steps)
{
	job->patience -= (int64_t) steps;
	if (job->patience > 0)
		return true;
	job->patience = QSET_PATIENCE;
	if (job->interrupt)
		return !job->interrupt->stop(job->interrupt->context);
	qb_pause(job->memory);
	return true;
}

/* The elements of one set of the block. */
typedef struct qset_set_view
{
	const uint32_t *rank;
	uint64_t count;
} qset_set_view;

QB_INLINE qset_set_view
qset_view_of(const qset_job *job, const qset_block_side *side, uint64_t i)
{
	const uint64_t *offset = (const uint64_t *) (job->block + side->offset) + i;

	return (qset_set_view){ (const uint32_t *) (job->block + side->rank) + offset[0],
							offset[1] - offset[0] };
}

QB_INLINE uint32_t
qset_size_of(const qset_job *job, const qset_block_side *side, uint64_t i)
{
	return ((const uint32_t *) (job->block + side->size))[i];
}

/*
 * Set the counter of a column to the number of elements that the row and the column have in common.
 */
QB_INLINE void
qset_set_count(qset_job *job, uint32_t column, uint64_t count)
{
	if (job->head->wide_row)
		((uint32_t *) job->count)[column] = (uint32_t) count;
	else
		((uint16_t *) job->count)[column] = (uint16_t) count;
}

/* Count one row by index or hybrid.  QB_CANCELLED: the job must stop. */
extern qb_status qset_index_row(qset_job *job);

/* prefix.c: count one row by the index of prefixes.  QB_CANCELLED: the job must stop. */
extern qb_status qset_candidates_row(qset_job *job);

/*
 * techniques.c: count one row by a technique of the paper, pair after pair.  QB_CANCELLED: the job
 * must stop.
 */
extern qb_status qset_technique_row(qset_job *job);

/* ---- measure.c: measuring the input, before plan.c chooses a method ---- */

/* True if the request is for pairs within one collection. */
QB_INLINE bool
qset_within_one(const qset_request *r)
{
	return r->columns == NULL;
}

/*
 * Find the sets that can be in a pair and the degrees of their elements, and fill the plan's
 * counts.
 */
extern qb_status qset_measure(qset_preparation *p);

/*
 * Return the number of events of all elements whose degree is less than "bound".  An event is a
 * pair of equal elements.
 */
extern uint64_t qset_events_below(const qset_preparation *p, uint64_t bound);

/*
 * Estimate the index of prefixes before prefixes are made.  *entered is the number of elements of
 * prefixes that are put into lists or looked up in lists, and *events is the number of events.  The
 * estimate assumes that the prefixes of all rows together have the rarest elements.  The true
 * number of events is greater if small sets have frequent elements, or if sets are near copies of
 * other sets.
 */
extern void qset_expect_prefixes(const qset_preparation *p, double *entered, double *events);

/* Make the prefixes of all sets, and count the events of their lists. */
extern qb_status qset_make_prefixes(qset_preparation *p);

#endif
