/*
 * block.h
 *		The prepared input of all pairs, in one piece of memory without pointers.
 *
 * A head says where the arrays lie, in bytes from the start; 0: not there.
 * Which are there depends on the method.  k rows or columns:
 *
 *	all				set, size [k]		number in the collection, size there
 *	index, hybrid	row_start [k + 1]	the row's first in entry
 *					entry []			part of an element's list: where, how long
 *					list []				columns that have the element, ascending
 *	hybrid			heavy_start [k + 1]	the row's first in heavy
 *					heavy []			its heavy elements
 *					bits []				each heavy element's column of bits
 *	pairwise, and index of prefixes
 *					offset [k + 1], rank []		the sets
 *	bitmap, resident	bits_of [k]		the sets as bitmaps
 *
 * Of an element that a row has only the columns after it are of interest
 * within one collection, so the entry points into the middle of the list, and
 * there is none for the last of a list.
 *
 * src/sets/block.h
 */
#ifndef QI_BLOCK_H
#define QI_BLOCK_H

#include "sets/pairs.h"

/* An entry: position in "list" and number of columns. */
#define QI_LENGTH_BITS 28

QS_INLINE uint64_t
qi_entry(uint64_t at, uint64_t length)
{
	return at << QI_LENGTH_BITS | length;
}

/* Where the arrays of one side lie. */
typedef struct qi_block_side
{
	uint64_t sets;
	uint64_t set;
	uint64_t size;
	uint64_t offset;
	uint64_t rank;
	uint64_t bits_of;
} qi_block_side;

typedef struct qi_block
{
	int32_t method;
	bool prefix;
	bool resident;
	bool tail;
	bool same;      /* within one collection */
	bool wide_list; /* list of 4-byte numbers, else 2 */
	bool wide_row;  /* counters of 4 bytes, else 2 */
	qi_filter filter;
	qi_block_side row;
	qi_block_side column;
	uint64_t row_start;
	uint64_t entry;
	uint64_t list;
	uint64_t heavy_start;
	uint64_t heavy;
	uint64_t bits;
	uint64_t bit_words;    /* of a heavy element's column, a multiple of QI_BLOCK_WORDS */
	uint64_t bitmap_words; /* of the universe */
	uint64_t most_heavy;   /* heavy elements of one row */
	uint64_t largest_row;  /* elements of one row */
	uint64_t bytes;
} qi_block;

/* Counters in a row's array: columns, rounded up. */
QS_INLINE uint64_t
qi_row_room(const qi_block *b)
{
	return (b->column.sets + QI_BLOCK - 1) / QI_BLOCK * QI_BLOCK;
}

/* Elements of a set kept: numbers by rank or, with prefixes, by rarity. */
extern const uint32_t *
qi_side_elements(const qi_preparation *p, const qi_side *s, uint64_t i, uint64_t *count);

/* Bytes of the block for the method of the plan: a head with all places set. */
extern void qi_block_layout(const qi_preparation *p, const qi_plan *plan, qi_block *b);

/* Count a row by the method of the block; QS_CANCELLED. */
extern qs_status qi_count_row(qi_job *job);

/* Spend steps of about a nanosecond; false: stop. */
QS_INLINE bool
qi_spend(qi_job *job, uint64_t steps)
{
	job->patience -= (int64_t) steps;
	if (job->patience > 0)
		return true;
	job->patience = QI_PATIENCE;
	return !qi_stopped(job->interrupt);
}

/* A set of the block: its elements. */
typedef struct qi_set_view
{
	const uint32_t *rank;
	uint64_t count;
} qi_set_view;

QS_INLINE qi_set_view
qi_view_of(const qi_job *job, const qi_block_side *side, uint64_t i)
{
	const uint64_t *offset = (const uint64_t *) (job->block + side->offset) + i;

	return (qi_set_view){ (const uint32_t *) (job->block + side->rank) + offset[0],
						  offset[1] - offset[0] };
}

QS_INLINE uint32_t
qi_size_of(const qi_job *job, const qi_block_side *side, uint64_t i)
{
	return ((const uint32_t *) (job->block + side->size))[i];
}

/* What a row has in common with a column. */
QS_INLINE void
qi_set_count(qi_job *job, uint32_t column, uint64_t count)
{
	if (job->head->wide_row)
		((uint32_t *) job->count)[column] = (uint32_t) count;
	else
		((uint16_t *) job->count)[column] = (uint16_t) count;
}

/* techniques_rows.c: the same by one of the techniques, pair after pair. */
extern qs_status qi_technique_row(qi_job *job);

#endif
