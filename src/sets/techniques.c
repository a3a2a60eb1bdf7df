/*
 * techniques.c
 *		The paper's techniques for one pair of sets, and the counts of one row, pair after pair.
 *
 * Each technique is from the paper's section 3, as a plain function on one processor.  kernels.c
 * has the merge and the bitmaps.
 *
 * src/sets/techniques.c
 */
#include "sets/block.h"

#include "base/slot.h"

/*
 * ---- IP, intersect path: a pair cut into pieces along its merge path ----
 *
 * The method is by Green, Yalamanchili and Munguia.  In the paper, thread blocks work on the
 * pieces.  In this file, the paper's hybrids IP-OBS and IP-HI use pieces that fit into the fastest
 * cache.  A cut takes O(log(n + m)) steps.
 */

uint64_t
qset_path_cut(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m, uint64_t diagonal,
			  uint64_t *y)
{
	uint64_t low = diagonal > m ? diagonal - m : 0;
	uint64_t high = diagonal < n ? diagonal : n;

	/* find the number of elements of a before element number "diagonal" of the merge */
	while (low < high)
	{
		uint64_t middle = low + (high - low) / 2;

		if (a[middle] <= b[diagonal - middle - 1])
			low = middle + 1;
		else
			high = middle;
	}
	*y = diagonal - low;
	if (low > 0 && *y < m && a[low - 1] == b[*y])
		(*y)++;
	return low;
}

uint64_t
qset_path_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
				qset_piece_count piece)
{
	uint64_t common = 0;
	uint64_t x = 0;
	uint64_t y = 0;

	while (x < n && y < m)
	{
		uint64_t left = n - x + (m - y);
		uint64_t next_y;
		uint64_t next_x = qset_path_cut(a + x, n - x, b + y, m - y,
										left < QSET_PIECE ? left : QSET_PIECE, &next_y);

		common += piece(a + x, next_x, b + y, next_y);
		x += next_x;
		y += next_y;
	}
	return common;
}

/*
 * ---- OBS, optimized binary search: searches the smaller set's elements in the larger set ----
 *
 * The method is by Hu, Liu and Huang.  In the paper, the first levels of the larger set's search
 * tree are in shared memory.  In this file, a table of elements at equal distances replaces these
 * levels.  The table stays in the first-level cache, so only the last levels read the set.  An
 * intersection takes O(n log m) comparisons, where n is the size of the smaller set.
 */

/* The number of entries of the table, which has 4 kB and replaces ten levels. */
#define TOP 1024

/*
 * Return 1 if x is in b, else 0.  The number of steps does not depend on the comparisons, so no
 * branch is mispredicted.
 */
static inline uint64_t
contains(const uint32_t *b, uint64_t m, uint32_t x)
{
	while (m > 1)
	{
		uint64_t half = m / 2;

		b = b[half] <= x ? b + half : b;
		m -= half;
	}
	return m == 1 && *b == x;
}

uint64_t
qset_search_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m)
{
	uint64_t common = 0;
	uint64_t i;

	if (n > m)
		return qset_search_piece(b, m, a, n);
	for (i = 0; i < n; i++)
		common += contains(b, m, a[i]);
	return common;
}

/* Return the index of the table's last entry <= x, or 0 if all entries are greater than x. */
static inline uint64_t
segment_of(const uint32_t *top, uint32_t x)
{
	uint64_t at = 0;
	uint64_t half;

	for (half = TOP / 2; half > 0; half /= 2)
		at += top[at + half] <= x ? half : 0;
	return at;
}

uint64_t
qset_search_count(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m)
{
	uint32_t top[TOP];
	uint64_t segment = (m + TOP - 1) / TOP;
	uint64_t common = 0;
	uint64_t i;

	if (n > m)
		return qset_search_count(b, m, a, n);
	if (m < 2 * TOP)
		return qset_search_piece(a, n, b, m);
	for (i = 0; i < TOP; i++)
		top[i] = i * segment < m ? b[i * segment] : UINT32_MAX;
	for (i = 0; i < n; i++)
	{
		uint64_t from = segment_of(top, a[i]) * segment;

		common += contains(b + from, m - from < segment ? m - from : segment, a[i]);
	}
	return common;
}

/*
 * ---- HI, hash-based intersection: one set probes buckets of the other set ----
 *
 * The method is H-INDEX by Pandey and others.  The paper's buckets have a fixed capacity.  In this
 * file, all buckets share one array of exactly n elements, in which the elements of a bucket are
 * contiguous, so no bucket can overflow.  Building takes O(n) steps, and probing takes O(m) steps,
 * with two random accesses for each element.
 */

/* Return log2 of the number of buckets.  If n > 1, a bucket has one to two elements on average. */
static uint32_t
bucket_bits(uint64_t n)
{
	return n < 4 ? 1 : 63 - (uint32_t) __builtin_clzll(n);
}

uint64_t
qset_hash_starts(uint64_t n)
{
	return (UINT64_C(1) << bucket_bits(n)) + 1;
}

static inline uint64_t
bucket_of(const qset_hash *h, uint32_t x)
{
	return qb_slot_hash(x) >> h->shift;
}

void
qset_hash_build(qset_hash *h, const uint32_t *a, uint64_t n)
{
	uint64_t starts = qset_hash_starts(n);
	uint64_t i;

	h->shift = 64 - bucket_bits(n);
	memset(h->start, 0, starts * sizeof(*h->start));
	for (i = 0; i < n; i++)
		h->start[bucket_of(h, a[i])]++;
	for (i = 1; i < starts; i++)
		h->start[i] += h->start[i - 1];
	/*
	 * start[] now has the buckets' ends, and each stored element moves its bucket's end down by one
	 */
	for (i = n; i > 0; i--)
		h->item[--h->start[bucket_of(h, a[i - 1])]] = a[i - 1];
}

uint64_t
qset_hash_count(const qset_hash *h, const uint32_t *b, uint64_t m)
{
	uint64_t common = 0;
	uint64_t i;

	for (i = 0; i < m; i++)
	{
		uint64_t bucket = bucket_of(h, b[i]);
		uint32_t at;

		for (at = h->start[bucket]; at < h->start[bucket + 1]; at++)
			common += h->item[at] == b[i];
	}
	return common;
}

uint64_t
qset_hash_piece(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m)
{
	uint32_t start[QSET_PIECE + 2];
	uint32_t item[QSET_PIECE + 1];
	qset_hash h = { start, item, 0 };

	if (n > m)
		return qset_hash_piece(b, m, a, n);
	qset_hash_build(&h, a, n);
	return qset_hash_count(&h, b, m);
}

/*
 * ---- all pairs: the counters of one row ----
 *
 * The techniques exist for comparison with the index (block.c).  Of the techniques, QSET_AUTO
 * chooses only BI-naive.  Costs for k sets of n elements:
 *
 *	merge, search, merge_search, merge_hash		k pairs (costs: kernels.h)
 *	hash		the row hashed once, k n probes		paper: HI, multiple
 *	bitmap		the row's bitmap, k n probes		paper: BI-dynamic
 *				or k |E|/512 vectors				paper: BI-naive
 */

/* Make the hash table or the bitmap of the row, if the method uses it. */
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
