/*
 * techniques_hash.c
 *		HI, hash-based intersection: the smaller set in buckets, the other probes.
 *
 * Paper, section 3 (Pandey and others, H-INDEX).  The paper's buckets have a
 * fixed room.  Here all buckets share one array of exactly n elements, in
 * which the elements of a bucket lie together, so nothing can overflow.
 * Building takes O(n) steps, probing O(m), with two random accesses for each
 * element.
 *
 * src/sets/techniques_hash.c
 */
#include "sets/techniques.h"

#include "base/slot.h"

/* log2 of the buckets: one to two elements each. */
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
	/* start[] now holds ends; each placed element moves its bucket's end down by one */
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
