/*
 * shards.c
 *		All pairs: cutting the rows into shards of about the same work.
 *
 * Shares are ranges, so the pairs of one shard come before the pairs of the
 * next.  The prepared input tells how many steps a row takes: the lengths of
 * its lists or, for methods that look at one pair after another, its size.
 * Cutting takes O(entries) steps, once.
 *
 * src/sets/shards.c
 */
#include "sets/block.h"

/* Counters looked at, and sets of a column of bits added, in one step. */
#define SCANNED 16
#define ADDED   100

/* Steps that the beginning of a pair counts as. */
#define PAIR_STEPS 16

static uint64_t
listed_steps(const qset_block *b, const uint8_t *block, uint64_t row, uint64_t columns)
{
	const uint64_t *start = (const uint64_t *) (block + b->row_start) + row;
	const uint64_t *entry = (const uint64_t *) (block + b->entry);
	const uint64_t *heavy = (const uint64_t *) (block + b->heavy_start) + row;
	uint64_t steps = columns / SCANNED;
	uint64_t i;

	for (i = start[0]; i < start[1]; i++)
		steps += 1 + (entry[i] & ((UINT64_C(1) << QSET_LENGTH_BITS) - 1));
	if (b->heavy_start != 0)
		steps += (heavy[1] - heavy[0]) * (1 + columns / ADDED);
	return steps;
}

/* About how many steps a row takes; at least one. */
static uint64_t
row_steps(const qset_job *job, uint64_t row)
{
	const qset_block *b = job->head;
	uint64_t columns = b->column.sets - (b->tail ? row + 1 : 0);
	uint64_t size = ((const uint32_t *) (job->block + b->row.size))[row];

	if (b->row_start != 0)
		return 1 + listed_steps(b, job->block, row, columns);
	return 1 + columns * (b->resident ? b->bitmap_words / QSET_BLOCK_WORDS + 1 : size + PAIR_STEPS);
}

/* Steps that row_steps() itself takes for a row. */
static uint64_t
asking_steps(const qset_job *job, uint64_t row)
{
	const uint64_t *start = (const uint64_t *) (job->block + job->head->row_start) + row;

	return job->head->row_start != 0 ? start[1] - start[0] + 5 : 5;
}

/* As row_steps(), or 0 if the job is to stop. */
static uint64_t
job_steps(void *context, uint64_t row)
{
	qset_job *job = context;

	return qset_spend(job, asking_steps(job, row)) ? row_steps(job, row) : 0;
}

qb_status
qset_cut_rows(uint64_t rows, uint64_t (*steps_of)(void *context, uint64_t row), void *context,
			  uint64_t *first, uint64_t shards)
{
	unsigned __int128 all = 0;
	unsigned __int128 before = 0;
	uint64_t shard = 0;
	uint64_t steps = 1;
	uint64_t i;

	for (i = 0; i < rows && steps > 0; i++)
		all += steps = steps_of(context, i);
	for (i = 0; i < rows && steps > 0; i++)
	{
		while (shard < shards && before * shards >= all * shard)
			first[shard++] = i;
		before += steps = steps_of(context, i);
	}
	while (shard <= shards)
		first[shard++] = rows;
	return steps > 0 ? QB_OK : QB_CANCELLED;
}

qb_status
qset_job_split(qset_job *job, uint64_t *first, uint64_t shards)
{
	return qset_cut_rows(job->head->row.sets, job_steps, job, first, shards);
}
