/*
 * sketch_top.c
 *		Finding the most frequent keys of batches that went into a sketch.
 *
 * Most keys are below the threshold.  A fast loop finds the other keys while it adds the
 * batch.  Keys that are candidates already are only counted.  The rest are estimated.
 *
 * src/engine/sketch_top.c
 */
#include "engine/sketch_engine.h"
#include "engine/sketch_kernels.h"

/* The rows of a batch whose keys are no candidates. */
typedef struct strangers
{
	size_t count;
	uint64_t fingerprint[QS_BATCH];
	uint32_t row[QS_BATCH];
} strangers;

/*
 * Count the selected keys that are candidates, and collect those that are not.  No candidate's
 * estimate is below the threshold, so keys that are below it need not be looked up.
 */
static void
count_known(qs_top *top, const uint64_t *fingerprint, const int64_t *weight,
			const qs_selection *selection, strangers *others)
{
	size_t k;

	others->count = 0;
	for (k = 0; k < selection->count; k++)
	{
		uint32_t i = selection->found[k];
		qs_top_key *known = qs_top_lookup(top, fingerprint[i]);

		if (known)
			known->lower += weight ? weight[i] : 1;
		others->fingerprint[others->count] = fingerprint[i];
		others->row[others->count] = i;
		others->count += known == NULL;
	}
}

/*
 * Count a key whose estimate is at least the threshold.  It may have become a candidate in
 * this batch; if not, it must be above the threshold.
 */
static qb_status
count_key(qs_top *top, const qs_sketch *sk, uint64_t fingerprint, int64_t weight, int64_t estimate,
		  uint32_t row)
{
	qs_top_key *known = qs_top_lookup(top, fingerprint);
	qs_top_key key = {
		.fingerprint = fingerprint, .lower = weight, .estimate = estimate, .row = row
	};

	if (known)
		known->lower += weight;
	else if (weight > 0 && estimate > top->threshold)
		return qs_top_admit(top, sk, &key);
	return QB_OK;
}

/* Make candidates of those other keys whose estimates are above the threshold. */
static qb_status
admit(qs_top *top, const qs_sketch *sk, const int64_t *weight, const strangers *others)
{
	int64_t estimate[QS_BATCH];
	qb_status status = QB_OK;
	size_t i;

	qs_query(sk, others->fingerprint, others->count, estimate);
	for (i = 0; i < others->count && status == QB_OK; i++)
		if (estimate[i] >= top->threshold)
			status = count_key(top, sk, others->fingerprint[i], weight ? weight[others->row[i]] : 1,
							   estimate[i], others->row[i]);
	return status;
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
qs_top_insert(qs_top *top, qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
			  size_t count)
{
	qs_selection selection;
	strangers others;
	qb_status status;

	top->fresh = top->count;
	top->batch_bound = top->bound;
	selection.least = top->threshold;
	status = qs_insert_select(sk, fingerprint, weight, count, &selection);
	if (status != QB_OK)
		return status;
	count_known(top, fingerprint, weight, &selection, &others);
	status = admit(top, sk, weight, &others);
	if (status == QB_OK)
		bound_fresh(top);
	return status;
}
