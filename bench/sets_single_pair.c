/*
 * sets_single_pair.c
 *		Counts one pair of sets by any of the techniques, for tests and benchmarks.
 *
 * bench/sets_single_pair.c
 */
#include "bench/sets_single_pair.h"

static qb_status
hash_pair(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m, const qb_memory *memory,
		  uint64_t *common)
{
	qset_hash h = { 0 };
	qb_status status = QB_NO_MEMORY;

	h.start = qset_alloc(memory, qset_hash_starts(n), sizeof(uint32_t));
	h.item = qset_alloc(memory, n, sizeof(uint32_t));
	if (h.start && h.item)
	{
		qset_hash_build(&h, a, n);
		*common = qset_hash_count(&h, b, m);
		status = QB_OK;
	}
	qset_release(memory, h.start);
	qset_release(memory, h.item);
	return status;
}

static qb_status
bitmap_pair(const qset_kernels *k, const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
			const qb_memory *memory, uint64_t *common)
{
	uint32_t last = n > 0 && m > 0 && a[n - 1] < b[m - 1] ? b[m - 1] : n > 0 ? a[n - 1] : 0;
	uint64_t *bits = qset_alloc(memory, qset_bitmap_words((uint64_t) last + 1), sizeof(uint64_t));

	if (!bits)
		return QB_NO_MEMORY;
	qset_bitmap_set(bits, a, n);
	*common = n > 0 ? k->probe(bits, b, m) : 0;
	qset_release(memory, bits);
	return QB_OK;
}

qb_status
qset_single_count(const qset_kernels *k, int method, const uint32_t *a, uint64_t n,
				  const uint32_t *b, uint64_t m, const qb_memory *memory, uint64_t *common)
{
	if (n > m) /* the hash table or the bitmap must be made of the smaller set */
		return qset_single_count(k, method, b, m, a, n, memory, common);
	switch (method)
	{
		case QSET_AUTO:
			*common = qset_count32(k, (const int32_t *) a, n, (const int32_t *) b, m);
			return QB_OK;
		case QSET_MERGE:
			*common = k->count32((const int32_t *) a, n, (const int32_t *) b, m);
			return QB_OK;
		case QSET_SEARCH:
			*common = qset_search_count(a, n, b, m);
			return QB_OK;
		case QSET_MERGE_SEARCH:
			*common = qset_path_count(a, n, b, m, qset_search_piece);
			return QB_OK;
		case QSET_HASH:
			return hash_pair(a, n, b, m, memory, common);
		case QSET_MERGE_HASH:
			*common = qset_path_count(a, n, b, m, qset_hash_piece);
			return QB_OK;
		case QSET_BITMAP:
			return bitmap_pair(k, a, n, b, m, memory, common);
		default:
			return QB_BAD_METHOD;
	}
}
