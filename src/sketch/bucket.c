/*
 * bucket.c
 *		The counters of one bucket as numbers, whatever the structure.
 *
 * src/sketch/bucket.c
 */
#include "sketch/bucket.h"
#include "sketch/multilevel_buckets.h"

bool
qs_bucket_is_fat(const qs_sketch *sk, qs_side side)
{
	if (!qs_has_fat(sk->params.structure) || sk->params.part == QS_PART_DEVICE)
		return false;
	return side == QS_SIDE_BEST || sk->params.part == QS_PART_HOST;
}

uint32_t
qs_bucket_counters(const qs_sketch *sk, qs_side side)
{
	if (qs_has_rows(sk->params.structure))
		return sk->params.depth;
	if (qs_bucket_is_fat(sk, side))
		return QS_SF_WIDTH * sk->params.z;
	return qs_bucket_width(sk->params.structure);
}

/* Read "count" counters, each "stride" counters after the one before. */
QB_INLINE void
read_counters(const uint8_t *table, uint64_t first, uint64_t stride, bool wide, uint64_t *value,
			  uint32_t count)
{
	uint32_t i;

	for (i = 0; i < count; i++)
		value[i] = qb_counter_get(table, first + stride * i, wide);
}

void
qs_bucket_read(const qs_sketch *sk, qs_side side, uint64_t bucket, uint64_t *value)
{
	uint32_t count = qs_bucket_counters(sk, side);
	const uint8_t *table = qs_bucket_is_fat(sk, side) ? sk->extra : sk->table;

	if (qs_has_high(sk->params.structure))
		qs_multilevel_values(sk, bucket, value);
	else if (qs_has_rows(sk->params.structure))
		read_counters(table, bucket, sk->params.n, sk->wide, value, count);
	else if (sk->wide)
		read_counters(table, bucket * count, 1, true, value, count);
	else
		read_counters(table, bucket * count, 1, false, value, count);
}

void
qs_values_sort(uint64_t *value, uint32_t count)
{
	uint32_t i;

	for (i = 1; i < count; i++)
	{
		uint64_t v = value[i];
		uint32_t j = i;

		for (; j > 0 && value[j - 1] > v; j--)
			value[j] = value[j - 1];
		value[j] = v;
	}
}

/*
 * chance[i] = C(count - 1 - i, k - 1) / C(count, k): value i is chosen, and the
 * other k - 1 chosen values are above it.
 */
void
qs_subset_chances(uint32_t count, uint32_t k, double *chance)
{
	uint32_t i;

	chance[0] = (double) k / count;
	for (i = 1; i <= count - k; i++)
		chance[i] = chance[i - 1] * (count - k + 1 - i) / (count - i);
}

double
qs_subset_minimum(const uint64_t *value, uint32_t count, uint32_t k)
{
	double chance[QS_MASK_BITS_MAX];
	double mean = 0;
	uint32_t i;

	qs_subset_chances(count, k, chance);
	for (i = 0; i <= count - k; i++)
		mean += chance[i] * (double) value[i];
	return mean;
}

/* Sum over all k-subsets of the 8 shares of the product of their members. */
static double
sum_of_products(const double *share, uint32_t k)
{
	double sum[QS_SF_WIDTH + 1] = { 1 }; /* of products of 0, 1, .. shares */
	uint32_t i, j;

	for (j = 0; j < QS_SF_WIDTH; j++)
		for (i = k; i > 0; i--)
			sum[i] += sum[i - 1] * share[j];
	return sum[k];
}

/*
 * Goes from the largest cell down.  The minimum is at least v if the cell in every
 * chosen sub-bucket is, and share[j] is the share of sub-bucket j's cells that are
 * at least v.
 */
uint32_t
qs_fat_chances(const uint64_t *cell, uint32_t stride, const uint32_t *size, uint32_t k,
			   uint64_t *value, double *chance)
{
	uint32_t left[QS_SF_WIDTH];
	double share[QS_SF_WIDTH] = { 1, 1, 1, 1, 1, 1, 1, 1 };
	double subsets = sum_of_products(share, k);
	double reached = 0;
	uint32_t count = 0;

	memcpy(left, size, sizeof(left));
	memset(share, 0, sizeof(share));
	for (;;)
	{
		uint64_t v = 0;
		uint32_t top = 0;
		double tail;
		uint32_t j;

		for (j = 0; j < QS_SF_WIDTH; j++)
			if (left[j] > 0 && cell[j * stride + left[j] - 1] > v)
				v = cell[(top = j) * stride + left[j] - 1];
		if (v == 0)
			break;
		left[top]--;
		share[top] += 1.0 / size[top];
		tail = sum_of_products(share, k) / subsets;
		value[count] = v;
		chance[count++] = tail - reached;
		reached = tail;
	}
	value[count] = 0;
	chance[count++] = 1 - reached;
	return count;
}
