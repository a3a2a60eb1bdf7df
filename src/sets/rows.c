/*
 * rows.c
 *		All pairs: the counters of one row, by each method.
 *
 * Every method sets the job's counter of each column from "from" on to the
 * number of elements that the column has in common with the row, or to 0 where
 * the sizes already show that the pair cannot pass.  Costs, for k sets of n
 * elements (techniques_rows.c has those of the techniques):
 *
 *	index		one step for each equal element		paper: sf-gssjoin
 *	hybrid		the same for rare elements, and for each frequent one that
 *				the row has k/512 vectors
 *
 * The paper's index adds to a triangle of counters in memory by atomic
 * operations; one row of counters at a time stays in the cache.  The hybrid's
 * product of bit matrices is made row by row: carry-save adders add the
 * columns of bits of the row's elements, 512 sets at a time.  The cost grows
 * with the frequent elements of the row.  Counting the bits of ANDed rows, as a
 * device with tensor cores does, would cost as much for a row as there are
 * frequent elements in all.
 *
 * src/sets/rows.c
 */
#include "sets/block.h"

/* Lists are prefetched this many ahead. */
#define AHEAD 8

static void
clear_counts(qset_job *job)
{
	size_t width = job->head->wide_row ? 4 : 2;

	memset((uint8_t *) job->count + job->from * width, 0,
		   (job->head->column.sets - job->from) * width);
}

/* ---- index ---- */

/*
 * Add a row's lists to its counters.  The widths are constants in each call,
 * so the compiler makes one loop for each combination.  The columns of a list
 * differ, so four counters can be read before any is increased.
 */
QB_INLINE bool
count_lists(qset_job *job, const uint64_t *entry, uint64_t entries, bool wide_list, bool wide_row)
{
	const uint8_t *list = job->block + job->head->list;
	const uint64_t width = wide_list ? 4 : 2;
	uint32_t *row4 = job->count;
	uint16_t *row2 = job->count;
	uint64_t i;

#define LISTED(at) (wide_list ? ((const uint32_t *) p)[at] : ((const uint16_t *) p)[at])
#define COUNT(x)   (wide_row ? (void) row4[x]++ : (void) row2[x]++)
	for (i = 0; i < entries; i++)
	{
		uint64_t length = entry[i] & ((UINT64_C(1) << QSET_LENGTH_BITS) - 1);
		const uint8_t *p = list + (entry[i] >> QSET_LENGTH_BITS) * width;

		if (i + AHEAD < entries)
			__builtin_prefetch(list + (entry[i + AHEAD] >> QSET_LENGTH_BITS) * width);
		if (!qset_spend(job, length + 2))
			return false;
		for (; length >= 4; length -= 4, p += 4 * width)
		{
			uint32_t x0 = LISTED(0);
			uint32_t x1 = LISTED(1);
			uint32_t x2 = LISTED(2);
			uint32_t x3 = LISTED(3);

			COUNT(x0);
			COUNT(x1);
			COUNT(x2);
			COUNT(x3);
		}
		for (; length > 0; length--, p += width)
			COUNT(LISTED(0));
	}
#undef LISTED
#undef COUNT
	return true;
}

static bool
add_lists(qset_job *job)
{
	const qset_block *b = job->head;
	const uint64_t *start = (const uint64_t *) (job->block + b->row_start) + job->row;
	const uint64_t *entry = (const uint64_t *) (job->block + b->entry) + start[0];
	uint64_t entries = start[1] - start[0];

	if (b->wide_list)
		return b->wide_row ? count_lists(job, entry, entries, true, true)
						   : count_lists(job, entry, entries, true, false);
	return b->wide_row ? count_lists(job, entry, entries, false, true)
					   : count_lists(job, entry, entries, false, false);
}

/* ---- hybrid ---- */

/* Set the row's counters from its heavy elements; counters need not be cleared before. */
static bool
add_columns(qset_job *job)
{
	const qset_block *b = job->head;
	const uint64_t *start = (const uint64_t *) (job->block + b->heavy_start) + job->row;
	const uint32_t *heavy = (const uint32_t *) (job->block + b->heavy) + start[0];
	const uint64_t *bits = (const uint64_t *) (job->block + b->bits);
	uint32_t columns = (uint32_t) (start[1] - start[0]);
	uint64_t at;
	uint32_t i;

	if (columns == 0)
	{
		clear_counts(job);
		return true;
	}
	for (i = 0; i < columns; i++)
		job->columns[i] = bits + heavy[i] * b->bit_words;
	for (at = job->from / QSET_BLOCK * QSET_BLOCK_WORDS; at < b->bit_words; at += QSET_BLOCK_WORDS)
	{
		uint16_t sum[QSET_BLOCK];

		if (!qset_spend(job, 50 + columns))
			return false;
		if (!b->wide_row)
		{
			job->kernels->sum_columns(job->columns, columns, at, (uint16_t *) job->count + at * 64);
			continue;
		}
		job->kernels->sum_columns(job->columns, columns, at, sum);
		for (i = 0; i < QSET_BLOCK; i++)
			((uint32_t *) job->count)[at * 64 + i] = sum[i];
	}
	return true;
}

qb_status
qset_count_row(qset_job *job)
{
	switch (job->head->method)
	{
		case QSET_INDEX:
			if (job->head->prefix)
				return qset_candidates_row(job);
			clear_counts(job);
			return add_lists(job) ? QB_OK : QB_CANCELLED;
		case QSET_HYBRID:
			return add_columns(job) && add_lists(job) ? QB_OK : QB_CANCELLED;
		default:
			return qset_technique_row(job);
	}
}
