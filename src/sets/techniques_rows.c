/*
 * techniques_rows.c
 *		All pairs: the counters of one row, pair after pair by one of the techniques.
 *
 * They are there to be compared with the index (rows.c); by itself the cost model
 * takes one only where it expects less of the index.  Costs, for k sets of n
 * elements:
 *
 *	merge, search, merge_search, merge_hash		k pairs (techniques.h)
 *	hash		the row hashed once, k n probes		paper: HI, multiple
 *	bitmap		the row's bitmap, k n probes		paper: BI-dynamic
 *				or k |E|/512 vectors				paper: BI-naive
 *
 * src/sets/techniques_rows.c
 */
#include "sets/block.h"

/* What a row needs before its pairs. */
static void
begin_row(qi_job *job, qi_set_view row)
{
	if (job->head->method == QI_HASH)
		qi_hash_build(&job->hash, row.rank, row.count);
	else if (job->bits)
		qi_bitmap_set(job->bits, row.rank, row.count);
}

static void
end_row(qi_job *job, qi_set_view row)
{
	if (job->bits)
		qi_bitmap_clear(job->bits, row.rank, row.count);
}

static uint64_t
count_pair(qi_job *job, qi_set_view row, qi_set_view column)
{
	const uint32_t *a = row.rank;
	const uint32_t *b = column.rank;
	uint64_t n = row.count;
	uint64_t m = column.count;

	switch (job->head->method)
	{
		case QI_MERGE:
			return job->kernels->count32((const int32_t *) a, n, (const int32_t *) b, m);
		case QI_SEARCH:
			return qi_search_count(a, n, b, m);
		case QI_MERGE_SEARCH:
			return qi_path_count(a, n, b, m, qi_search_piece);
		case QI_HASH:
			return qi_hash_count(&job->hash, b, m);
		case QI_MERGE_HASH:
			return qi_path_count(a, n, b, m, qi_hash_piece);
		default:
			return job->kernels->probe(job->bits, b, m);
	}
}

static uint64_t
and_pair(qi_job *job, uint64_t column)
{
	const qi_block *b = job->head;
	const uint64_t *rows = (const uint64_t *) (job->block + b->row.bits_of);
	const uint64_t *columns = (const uint64_t *) (job->block + b->column.bits_of);

	return job->kernels->and_count(rows + job->row * b->bitmap_words,
								   columns + column * b->bitmap_words, b->bitmap_words);
}

qs_status
qi_technique_row(qi_job *job)
{
	const qi_block *b = job->head;
	qi_set_view row = { NULL, 0 };
	qs_status status = QS_OK;
	uint64_t least;
	uint64_t most;
	uint64_t c;

	qi_filter_sizes(&b->filter, qi_size_of(job, &b->row, job->row), &least, &most);
	if (!b->resident)
	{
		row = qi_view_of(job, &b->row, job->row);
		begin_row(job, row);
	}
	for (c = job->from; c < b->column.sets && status == QS_OK; c++)
	{
		uint64_t size = qi_size_of(job, &b->column, c);
		uint64_t steps = b->resident ? b->bitmap_words / 4 : size + row.count;
		bool possible = size >= least && size <= most;

		if (!qi_spend(job, possible ? steps + 10 : 1))
			status = QS_CANCELLED;
		else if (!possible)
			qi_set_count(job, (uint32_t) c, 0);
		else if (b->resident)
			qi_set_count(job, (uint32_t) c, and_pair(job, c));
		else
			qi_set_count(job, (uint32_t) c, count_pair(job, row, qi_view_of(job, &b->column, c)));
	}
	end_row(job, row);
	return status;
}
