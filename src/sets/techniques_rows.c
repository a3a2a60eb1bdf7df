/*
 * techniques_rows.c
 *		All pairs: the counters of one row, pair after pair by one of the
 *		techniques.
 *
 * The techniques exist for comparison with the index (rows.c).  QSET_AUTO takes
 * none of them but BI-naive.  Costs, for k sets of n elements:
 *
 *	merge, search, merge_search, merge_hash		k pairs (techniques.h)
 *	hash		the row hashed once, k n probes		paper: HI, multiple
 *	bitmap		the row's bitmap, k n probes		paper: BI-dynamic
 *				or k |E|/512 vectors				paper: BI-naive
 *
 * src/sets/techniques_rows.c
 */
#include "sets/block.h"

/* Prepare what the row's pairs need: its hash table or its bitmap. */
static void
begin_row(qset_job *job, qset_set_view row)
{
	if (job->head->method == QSET_HASH)
		qset_hash_build(&job->hash, row.rank, row.count);
	else if (job->bits)
		qset_bitmap_set(job->bits, row.rank, row.count);
}

static void
end_row(qset_job *job, qset_set_view row)
{
	if (job->bits)
		qset_bitmap_clear(job->bits, row.rank, row.count);
}

static uint64_t
count_pair(qset_job *job, qset_set_view row, qset_set_view column)
{
	const uint32_t *a = row.rank;
	const uint32_t *b = column.rank;
	uint64_t n = row.count;
	uint64_t m = column.count;

	switch (job->head->method)
	{
		case QSET_MERGE:
			return job->kernels->count32((const int32_t *) a, n, (const int32_t *) b, m);
		case QSET_SEARCH:
			return qset_search_count(a, n, b, m);
		case QSET_MERGE_SEARCH:
			return qset_path_count(a, n, b, m, qset_search_piece);
		case QSET_HASH:
			return qset_hash_count(&job->hash, b, m);
		case QSET_MERGE_HASH:
			return qset_path_count(a, n, b, m, qset_hash_piece);
		default:
			return job->kernels->probe(job->bits, b, m);
	}
}

static uint64_t
and_pair(qset_job *job, uint64_t column)
{
	const qset_block *b = job->head;
	const uint64_t *rows = (const uint64_t *) (job->block + b->row.bits_of);
	const uint64_t *columns = (const uint64_t *) (job->block + b->column.bits_of);

	return job->kernels->and_count(rows + job->row * b->bitmap_words,
								   columns + column * b->bitmap_words, b->bitmap_words);
}

qb_status
qset_technique_row(qset_job *job)
{
	const qset_block *b = job->head;
	qset_set_view row = { NULL, 0 };
	qb_status status = QB_OK;
	uint64_t least;
	uint64_t most;
	uint64_t c;

	qset_filter_sizes(&b->filter, qset_size_of(job, &b->row, job->row), &least, &most);
	if (!b->resident)
	{
		row = qset_view_of(job, &b->row, job->row);
		begin_row(job, row);
	}
	for (c = job->from; c < b->column.sets && status == QB_OK; c++)
	{
		uint64_t size = qset_size_of(job, &b->column, c);
		uint64_t steps = b->resident ? b->bitmap_words / 4 : size + row.count;
		bool possible = size >= least && size <= most;

		if (!qset_spend(job, possible ? steps + 10 : 1))
			status = QB_CANCELLED;
		else if (!possible)
			qset_set_count(job, (uint32_t) c, 0);
		else if (b->resident)
			qset_set_count(job, (uint32_t) c, and_pair(job, c));
		else
			qset_set_count(job, (uint32_t) c,
						   count_pair(job, row, qset_view_of(job, &b->column, c)));
	}
	end_row(job, row);
	return status;
}
