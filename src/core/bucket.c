/*
 * bucket.c
 *		The counters of one bucket as numbers, whatever the structure.
 *
 * src/core/bucket.c
 */
#include "core/bucket.h"
#include "core/multilevel.h"

bool
qs_bucket_is_fat(const qs_sketch *sk, qs_side side)
{
	if (sk->params.structure != QS_SF || sk->params.part == QS_PART_DEVICE)
		return false;
	return side == QS_SIDE_BEST || sk->params.part == QS_PART_HOST;
}

uint32_t
qs_bucket_counters(const qs_sketch *sk, qs_side side)
{
	if (sk->params.structure == QS_THREAD)
		return sk->params.depth;
	if (qs_bucket_is_fat(sk, side))
		return QS_SF_WIDTH * sk->params.z;
	return qs_bucket_width(sk->params.structure);
}

void
qs_bucket_read(const qs_sketch *sk, qs_side side, uint64_t bucket, uint64_t *value)
{
	uint32_t count = qs_bucket_counters(sk, side);
	const uint8_t *table = qs_bucket_is_fat(sk, side) ? sk->extra : sk->table;
	uint32_t i;

	if (sk->params.structure == QS_MULTILEVEL)
		qs_multilevel_values(sk, bucket, value);
	else if (sk->params.structure == QS_THREAD)
		for (i = 0; i < count; i++)
			value[i] = qs_counter_get(table, sk->params.n * i + bucket, sk->wide);
	else
		for (i = 0; i < count; i++)
			value[i] = qs_counter_get(table, bucket * count + i, sk->wide);
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
 * chance[i] = C(count - 1 - i, k - 1) / C(count, k): value i is there and the
 * other k - 1 are above it.
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

/* Mean over all k-subsets of the 8 shares of the product of their members. */
static double
mean_product(const double *share, uint32_t k)
{
	double sum[QS_SF_WIDTH + 1] = { 1 }; /* of products of 0, 1, .. shares */
	double subsets = 1;
	uint32_t i, j;

	for (j = 0; j < QS_SF_WIDTH; j++)
		for (i = k; i > 0; i--)
			sum[i] += sum[i - 1] * share[j];
	for (i = 0; i < k; i++)
		subsets = subsets * (QS_SF_WIDTH - i) / (i + 1);
	return sum[k] / subsets;
}

/*
 * From the largest cell down: the minimum is at least v if every chosen
 * sub-bucket's cell is, and share[j] of sub-bucket j's cells are.
 */
uint32_t
qs_fat_chances(const uint64_t *cell, uint32_t stride, const uint32_t *size, uint32_t k,
			   uint64_t *value, double *chance)
{
	uint32_t left[QS_SF_WIDTH];
	double share[QS_SF_WIDTH] = { 0 };
	double reached = 0;
	uint32_t count = 0;

	memcpy(left, size, sizeof(left));
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
		tail = mean_product(share, k);
		value[count] = v;
		chance[count++] = tail - reached;
		reached = tail;
	}
	value[count] = 0;
	chance[count++] = 1 - reached;
	return count;
}
