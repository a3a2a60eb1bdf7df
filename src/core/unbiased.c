/*
 * unbiased.c
 *		Estimates without the minimum's bias, from the same bucket.
 *
 * All come from one argument.  Take away the key and its weight f: what is
 * left in its bucket was put there under random masks, so any k counters of
 * the bucket have the same joint distribution as any other k.  The mean over
 * all k-subsets of the counters that the key owns of their minimum is f plus a
 * noise, and the same mean over the counters that it does not own is such a
 * noise; their difference has expectation f.  k = d makes the first term the
 * usual minimum.  Where fewer than d counters are left, k is their number.
 *
 * src/core/unbiased.c
 */
#include "core/bucket.h"
#include "core/explicit.h"
#include "core/unbiased.h"

bool
qs_unbiased_needs_noise(const qs_sketch *sk)
{
	return sk->form == QS_DENSE && sk->params.structure == QS_THREAD;
}

/* Counters of the key's bucket: those it owns and the others, both ascending. */
static void
split(const uint64_t *value, uint32_t count, uint32_t mask, uint64_t *own, uint64_t *others)
{
	uint32_t owned = 0;
	uint32_t i;

	for (i = 0; i < count; i++)
		if (mask >> i & 1)
			own[owned++] = value[i];
		else
			others[i - owned] = value[i];
	qs_values_sort(own, owned);
	qs_values_sort(others, count - owned);
}

static double
estimate_plain(const qs_sketch *sk, uint64_t hv)
{
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t d = sk->params.depth;
	uint32_t k = d < m - d ? d : m - d;
	uint64_t value[QS_MASK_BITS_MAX];
	uint64_t own[QS_MASK_BITS_MAX];
	uint64_t others[QS_MASK_BITS_MAX];

	qs_bucket_read(sk, QS_SIDE_BEST, qs_reduce(hv, sk->params.n), value);
	if (k == 0)
		return (double) value[0] - (double) sk->total / (double) sk->params.n;
	split(value, m, qs_mask_of(sk, hv), own, others);
	return qs_subset_minimum(own, d, k) - qs_subset_minimum(others, m - d, k);
}

/*
 * Fat bucket: take the key's own cell out of each sub-bucket it has one in,
 * and see what d of the 8 sub-buckets tell with the cells that are left.
 */
static double
estimate_fat(const qs_sketch *sk, uint64_t hv)
{
	uint32_t z = sk->params.z;
	uint32_t mask = qs_mask_of(sk, hv);
	uint64_t cell[QS_BUCKET_MAX];
	uint64_t value[QS_BUCKET_MAX + 1];
	double chance[QS_BUCKET_MAX + 1];
	uint32_t size[QS_SF_WIDTH];
	uint64_t least = UINT64_MAX;
	double noise = 0;
	uint32_t owned = 0;
	uint32_t count, j;

	qs_bucket_read(sk, QS_SIDE_BEST, qs_reduce(hv, sk->params.n), cell);
	for (j = 0; j < QS_SF_WIDTH; j++)
	{
		size[j] = z;
		if (mask >> j & 1)
		{
			uint64_t *own = cell + j * z + qs_sf_cell(hv, owned++, z);

			least = *own < least ? *own : least;
			*own = cell[j * z + z - 1];
			size[j] = z - 1;
		}
		qs_values_sort(cell + j * z, size[j]);
	}
	count = qs_fat_chances(cell, z, size, sk->params.depth, value, chance);
	for (j = 0; j < count; j++)
		noise += chance[j] * (double) value[j];
	return (double) least - noise;
}

static double
estimate_thread(const qs_sketch *sk, const qs_noise *noise, uint64_t hv)
{
	int64_t told;

	sk->ops->query(sk, &hv, 1, &told);
	return (double) told - noise->mean;
}

double
qs_estimate_unbiased(const qs_sketch *sk, const qs_noise *noise, uint64_t fingerprint)
{
	uint64_t hv = qs_hash(fingerprint, sk->seed_key);

	if (sk->form == QS_EXPLICIT)
		return (double) qs_explicit_get(sk, fingerprint, hv);
	if (sk->params.structure == QS_THREAD)
		return estimate_thread(sk, noise, hv);
	if (qs_bucket_is_fat(sk, QS_SIDE_BEST))
		return estimate_fat(sk, hv);
	return estimate_plain(sk, hv);
}
