/*
 * sketch_top.c
 *		Finding the most frequent keys of batches that went into a sketch.
 *
 * The counters of a batch have just been changed, so that estimating its keys
 * finds them in the cache.  All but few of them are below the threshold, or are
 * candidates already: these are counted.
 *
 * src/engine/sketch_top.c
 */
#include "engine/sketch_engine.h"
#include "engine/sketch_top.h"

/* Count a key whose estimate is not below the threshold: new ones must be above it. */
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
 * What may have been before this batch of those that came with it: their
 * estimate counts what the batch had of them as well.
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
