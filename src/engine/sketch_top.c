/*
 * sketch_top.c
 *		Finding the most frequent keys of batches that went into a sketch.
 *
 * The batch has just changed its counters, so estimating its keys finds them in the
 * cache.  Most keys are below the threshold.  Most of the rest are candidates
 * already, and are only counted.
 *
 * src/engine/sketch_top.c
 */
#include "engine/sketch_engine.h"
#include "engine/sketch_top.h"

/* Count a key whose estimate is at least the threshold.  A new candidate must be above it. */
static qb_status
count_key(qs_top *top, const qs_sketch *sk, uint64_t fingerprint, int64_t weight, int64_t estimate,
		  size_t row)
{
	qs_top_key *known = qs_top_lookup(top, fingerprint);
	qs_top_key key = {
		.fingerprint = fingerprint, .lower = weight, .estimate = estimate, .row = (uint32_t) row
	};

	if (known)
		known->lower += weight;
	else if (estimate > top->threshold)
		return qs_top_admit(top, sk, &key);
	return QB_OK;
}

/*
 * Set how often the candidates that are new in this batch may have occurred before
 * it.  Their estimate includes the occurrences in the batch, which "lower" has
 * counted.
 */
static void
bound_fresh(qs_top *top)
{
	uint64_t i;

	for (i = top->fresh; i < top->count; i++)
	{
		qs_top_key *key = &top->key[i];
		int64_t before = key->estimate - key->lower;

		if (key->row != QS_TOP_NO_ROW)
			key->before = before < top->batch_bound ? before : top->batch_bound;
		if (!top->texts)
			key->row = QS_TOP_NO_ROW;
	}
}

qb_status
qs_top_batch(qs_top *top, const qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
			 size_t count)
{
	int64_t estimate[QS_BATCH];
	size_t start;
	size_t i;

	top->fresh = top->count;
	top->batch_bound = top->bound;
	for (start = 0; start < count; start += QS_BATCH)
	{
		size_t n = count - start < QS_BATCH ? count - start : QS_BATCH;

		qs_query(sk, fingerprint + start, n, estimate);
		for (i = 0; i < n; i++)
		{
			int64_t w = weight ? weight[start + i] : 1;
			qb_status status;

			if (estimate[i] < top->threshold || w == 0)
				continue;
			status = count_key(top, sk, fingerprint[start + i], w, estimate[i], start + i);
			if (status != QB_OK)
				return status;
		}
	}
	bound_fresh(top);
	return QB_OK;
}
