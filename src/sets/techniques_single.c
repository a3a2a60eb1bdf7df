/*
 * techniques_single.c
 *		One pair of sets by any of the techniques.
 *
 * src/sets/techniques_single.c
 */
#include "sets/techniques.h"

static qs_status
hash_pair(const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m, const qs_memory *memory,
		  uint64_t *common)
{
	qi_hash h = { 0 };
	qs_status status = QS_NO_MEMORY;

	h.start = qi_alloc(memory, qi_hash_starts(n), sizeof(uint32_t));
	h.item = qi_alloc(memory, n, sizeof(uint32_t));
	if (h.start && h.item)
	{
		qi_hash_build(&h, a, n);
		*common = qi_hash_count(&h, b, m);
		status = QS_OK;
	}
	qi_release(memory, h.start);
	qi_release(memory, h.item);
	return status;
}

static qs_status
bitmap_pair(const qi_kernels *k, const uint32_t *a, uint64_t n, const uint32_t *b, uint64_t m,
			const qs_memory *memory, uint64_t *common)
{
	uint32_t last = n > 0 && m > 0 && a[n - 1] < b[m - 1] ? b[m - 1] : n > 0 ? a[n - 1] : 0;
	uint64_t *bits = qi_alloc(memory, qi_bitmap_words((uint64_t) last + 1), sizeof(uint64_t));

	if (!bits)
		return QS_NO_MEMORY;
	qi_bitmap_set(bits, a, n);
	*common = n > 0 ? k->probe(bits, b, m) : 0;
	qi_release(memory, bits);
	return QS_OK;
}

qs_status
qi_single_count(const qi_kernels *k, int method, const uint32_t *a, uint64_t n, const uint32_t *b,
				uint64_t m, const qs_memory *memory, uint64_t *common)
{
	if (n > m) /* hash and bitmap are made of the smaller */
		return qi_single_count(k, method, b, m, a, n, memory, common);
	switch (method)
	{
		case QI_AUTO:
			*common = qi_count32(k, (const int32_t *) a, n, (const int32_t *) b, m);
			return QS_OK;
		case QI_MERGE:
			*common = k->count32((const int32_t *) a, n, (const int32_t *) b, m);
			return QS_OK;
		case QI_SEARCH:
			*common = qi_search_count(a, n, b, m);
			return QS_OK;
		case QI_MERGE_SEARCH:
			*common = qi_path_count(a, n, b, m, qi_search_piece);
			return QS_OK;
		case QI_HASH:
			return hash_pair(a, n, b, m, memory, common);
		case QI_MERGE_HASH:
			*common = qi_path_count(a, n, b, m, qi_hash_piece);
			return QS_OK;
		case QI_BITMAP:
			return bitmap_pair(k, a, n, b, m, memory, common);
		default:
			return QS_BAD_METHOD;
	}
}
