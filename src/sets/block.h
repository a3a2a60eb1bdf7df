/*
 * block.h
 *		The prepared input of all pairs, in one piece of memory without pointers.
 *
 * A head gives each array's offset in bytes from the start; 0 means that the array does not exist.
 * The method decides which arrays exist.  For k rows or columns:
 *
 *	all				set, size [k]		number in the collection, size there
 *	index, hybrid	row_start [k + 1]	the row's first in entry
 *					entry []			slice of an element's list: where, how long
 *					list []				columns that have the element, ascending
 *	hybrid			heavy_start [k + 1]	the row's first in heavy
 *					heavy []			its heavy elements
 *					bits []				each heavy element's column of bits
 *	pairwise, and index of prefixes
 *					offset [k + 1], rank []		the sets
 *	index of prefixes
 *					column_signed [k], signature []		the columns' signatures (filter.h)
 *	bitmap, resident	bits_of [k]		the sets as bitmaps
 *
 * Within one collection a row needs only the columns after it.  So its entry
 * for an element points into the middle of that element's list, and the last
 * column of a list has no entry for it.  Lists of prefixes are in the order of sizes instead, and
 * an entry is a window of such a list (prefix.c).
 *
 * src/sets/block.h
 */
#ifndef QSET_BLOCK_H
#define QSET_BLOCK_H

#include "sets/pairs.h"

/* An entry: position in "list" and number of columns. */
#define QSET_LENGTH_BITS 28

QB_INLINE uint64_t
qset_entry(uint64_t at, uint64_t length)
{
	return at << QSET_LENGTH_BITS | length;
}

/* Where the arrays of one side lie. */
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
	bool same;      /* within one collection */
	bool wide_list; /* list has numbers of 4 bytes, else of 2 */
	bool wide_row;  /* counters of 4 bytes, else 2 */
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
	uint64_t fraction;     /* t of the filter, in the form that the sieve of signatures uses */
	uint64_t bit_words;    /* words of one heavy element's column, a multiple of QSET_BLOCK_WORDS */
	uint64_t bitmap_words; /* words of one bitmap over the universe */
	uint64_t most_heavy;   /* the most heavy elements of a row */
	uint64_t largest_row;  /* the most elements of a row */
	uint64_t largest_column;
	uint64_t bytes;
} qset_block;

/* Counters in a row's array: the number of columns, rounded up. */
QB_INLINE uint64_t
qset_row_room(const qset_block *b)
{
	return (b->column.sets + QSET_BLOCK - 1) / QSET_BLOCK * QSET_BLOCK;
}

/* The elements of a kept set: their ranks or, if prefixes were made, their numbers by rarity. */
extern const uint32_t *
qset_side_elements(const qset_preparation *p, const qset_side *s, uint64_t i, uint64_t *count);

/* Lay out the block for the plan's method: set all offsets in its head. */
extern void qset_block_layout(const qset_preparation *p, const qset_plan *plan, qset_block *b);

/* Write the block, except for the index of prefixes. */
extern qb_status qset_block_fill(const qset_preparation *p, void *block);

/* prefix.c: fill the index of prefixes, after both sides. */
extern qb_status qset_fill_windows(const qset_preparation *p, const qset_block *b, uint8_t *block);

/* Account for steps of about a nanosecond each.  False: the work must stop. */
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

/* Record how many elements the row and a column have in common. */
QB_INLINE void
qset_set_count(qset_job *job, uint32_t column, uint64_t count)
{
	if (job->head->wide_row)
		((uint32_t *) job->count)[column] = (uint32_t) count;
	else
		((uint16_t *) job->count)[column] = (uint16_t) count;
}

/* Count one row by index or hybrid.  QB_CANCELLED, as for the next two functions. */
extern qb_status qset_index_row(qset_job *job);

/* prefix.c: count one row by the index of prefixes. */
extern qb_status qset_candidates_row(qset_job *job);

/* techniques.c: count one row by one of the paper's techniques, pair after pair. */
extern qb_status qset_technique_row(qset_job *job);

/* ---- measure.c: measuring the input, before plan.c chooses a method ---- */

/* True if the wanted pairs are within one collection. */
QB_INLINE bool
qset_within_one(const qset_request *r)
{
	return r->columns == NULL;
}

/*
 * Find the sets that can be part of a pair, the degrees of their elements, and
 * the plan's counts.
 */
extern qb_status qset_measure(qset_preparation *p);

/* Events of the lists of all elements whose degree is below a bound. */
extern uint64_t qset_events_below(const qset_preparation *p, uint64_t bound);

/*
 * Estimate, before prefixes are made, how many elements of prefixes are put into lists or looked up
 * there, and how many events the lists have.  The estimate assumes that all sets are alike, so that
 * the prefixes of all rows together have the rarest of all elements.  There are more events if
 * small sets have frequent elements, or if sets are near copies of others.
 */
extern void qset_expect_prefixes(const qset_preparation *p, double *entered, double *events);

/* Make the prefixes of all sets, and count the events of their lists. */
extern qb_status qset_make_prefixes(qset_preparation *p);

#endif
