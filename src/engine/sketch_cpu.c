/*
 * sketch_cpu.c
 *		The CPU engine of sketches: adds batches, and finds the most frequent keys of a batch.
 *
 * Most keys have estimates below the threshold of the candidates (sketch/top.h).  A fast loop
 * selects all keys whose estimates reach the threshold, and possibly other keys.  Without a fast
 * loop, all keys are selected.  A selected key that is a candidate is only counted.  For any other
 * selected key the estimate is computed.
 *
 * src/engine/sketch_cpu.c
 */
#include "base/vector.h"
#include "engine/sketch_engine.h"
#include "sketch/explicit.h"
#include "sketch/pieces.h"

/* ---- the inner loops in use ---- */

static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *hv)
{
	qs_hash_each(seed_key, fingerprint, count, hv);
}

static const qs_kernels plain = { .hash = hash, .accumulate = qs_multilevel_accumulate_plain };

static const qs_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &plain,
#ifdef QB_VECTOR
	[QB_ISA_VECTOR] = &qs_kernels_vector,
#endif
#ifdef __x86_64__
	[QB_ISA_AVX512] = &qs_kernels_avx512,
#endif
};

const qs_kernels *
qs_kernels_now(void)
{
	return sets[qb_isa_now()];
}

static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_kernels_now()->accumulate(into, from, negative);
}

/* Runs when the library is loaded.  Makes sketches merge with the loops in use. */
__attribute__((constructor)) static void
provide_accumulate(void)
{
	qs_multilevel_accumulate = accumulate;
}

void
qs_kernels_add(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint8_t structure = sk->params.structure;
	bool takes_width = !sk->wide || structure == QS_MULTILEVEL;
	qs_kernel_add add = takes_width ? qs_kernels_now()->add[structure] : NULL;

	if (count == 0)
		return;
	if (add)
		add(sk, hv, weight, count);
	else
		sk->ops->add(sk, hv, weight, count);
}

/* True if fast loops can select keys by this limit. */
static bool
selects(const qs_sketch *sk, size_t count, int64_t least)
{
	return least > 0 && count > 0 && sk->encoding == QS_DENSE &&
		   sk->params.structure == QS_MULTILEVEL && sk->masks;
}

void
qs_kernels_select(const qs_sketch *sk, const uint64_t *fingerprint, size_t count,
				  qs_selection *selection)
{
	const qs_kernels *now = qs_kernels_now();
	uint64_t hv[QS_BATCH];
	size_t i;

	if (now->select && selects(sk, count, selection->least))
	{
		now->hash(sk->seed_key, fingerprint, count, hv);
		selection->count =
			now->select(sk, hv, count, (uint64_t) selection->least, selection->found);
		return;
	}
	for (i = 0; i < count; i++)
		selection->found[i] = (uint32_t) i;
	selection->count = count;
}

/*
 * Add a batch to dense tables, and select keys of the batch.  False: nothing was added, and the
 * caller must add and select in two steps.
 */
static bool
add_select(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count,
		   qs_selection *selection)
{
	const qs_kernels *now = qs_kernels_now();

	if (!now->add_select || !selects(sk, count, selection->least))
		return false;
	selection->count =
		now->add_select(sk, hv, weight, count, (uint64_t) selection->least, selection->found);
	return true;
}

/* ---- the engine ---- */

/*
 * Insert at most QS_BATCH keys.  begin_insert() has prepared the sketch for their weights.  Unless
 * "selection" is NULL, select keys of the batch.
 */
static qb_status
insert_batch(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count,
			 qs_selection *selection)
{
	uint64_t hv[QS_BATCH];
	size_t done = 0;
	qb_status status = QB_OK;

	if (sk->encoding == QS_EXPLICIT)
	{
		status = qs_explicit_add(sk, fingerprint, weight, count, &done);
		if (status == QB_OK && done < count)
			status = qs_make_dense(sk);
	}
	if (status == QB_OK && done < count && sk->ops->reserve)
		status = sk->ops->reserve(sk, count - done);
	if (status != QB_OK)
		return status;
	qs_kernels_now()->hash(sk->seed_key, fingerprint + done, count - done, hv);
	if (selection && done == 0 && add_select(sk, hv, weight, count, selection))
		return QB_OK;
	qs_kernels_add(sk, hv, weight ? weight + done : NULL, count - done);
	if (selection)
		qs_kernels_select(sk, fingerprint, count, selection);
	return QB_OK;
}

QB_INLINE size_t
batch_size(size_t count)
{
	return count < QS_BATCH ? count : QS_BATCH;
}

/* Prepare the sketch for these keys, and add their weights to its total. */
static qb_status
begin_insert(qs_sketch *sk, const int64_t *weight, size_t count)
{
	int64_t sum = qs_weight_sum(weight, count);
	qb_status status = qs_writable(sk);

	if (status == QB_OK)
		status = sum < 0 ? QB_TOTAL_OVERFLOW : qs_prepare(sk, sum);
	if (status == QB_OK)
		sk->total += sum;
	return status;
}

static qb_status
cpu_insert(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	qb_status status = begin_insert(sk, weight, count);
	size_t i;

	for (i = 0; i < count && status == QB_OK; i += QS_BATCH)
		status = insert_batch(sk, fingerprint + i, weight ? weight + i : NULL,
							  batch_size(count - i), NULL);
	return status;
}

qb_status
qs_insert_select(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count,
				 qs_selection *selection)
{
	qb_status status = begin_insert(sk, weight, count);

	if (status == QB_OK)
		status = insert_batch(sk, fingerprint, weight, count, selection);
	return status;
}

/*
 * Add back the first "count" keys after a removal that failed.  The sketch had these keys before
 * the removal, so adding them allocates no memory.
 */
static void
undo_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	uint64_t hv[QS_BATCH];
	size_t i;
	size_t done;

	for (i = 0; i < count; i += QS_BATCH)
	{
		const int64_t *w = weight ? weight + i : NULL;
		size_t n = batch_size(count - i);

		if (sk->encoding == QS_EXPLICIT)
		{
			qs_explicit_add(sk, fingerprint + i, w, n, &done);
			continue;
		}
		qs_kernels_now()->hash(sk->seed_key, fingerprint + i, n, hv);
		sk->ops->add(sk, hv, w, n);
	}
}

static size_t
remove_batch(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	uint64_t hv[QS_BATCH];

	if (sk->encoding == QS_EXPLICIT)
		return qs_explicit_remove(sk, fingerprint, weight, count);
	qs_kernels_now()->hash(sk->seed_key, fingerprint, count, hv);
	return sk->ops->remove(sk, hv, weight, count);
}

static qb_status
cpu_remove(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight, size_t count)
{
	int64_t sum = qs_weight_sum(weight, count);
	qb_status status = qs_writable(sk);
	size_t i;

	if (status == QB_OK)
		status = qs_materialize(sk);
	if (status != QB_OK)
		return status;
	if (sum < 0 || sum > sk->total)
		return QB_UNDERFLOW;
	for (i = 0; i < count; i += QS_BATCH)
	{
		size_t n = batch_size(count - i);
		size_t done = remove_batch(sk, fingerprint + i, weight ? weight + i : NULL, n);

		if (done < n)
		{
			undo_remove(sk, fingerprint, weight, i + done);
			return QB_UNDERFLOW;
		}
	}
	sk->total -= sum;
	return QB_OK;
}

void
qs_query(const qs_sketch *sk, const uint64_t *fingerprint, size_t count, int64_t *estimate)
{
	uint64_t hv[QS_BATCH];
	size_t i;

	for (i = 0; i < count; i += QS_BATCH)
	{
		size_t n = batch_size(count - i);
		size_t k;

		qs_kernels_now()->hash(sk->seed_key, fingerprint + i, n, hv);
		if (sk->encoding == QS_DENSE)
			sk->ops->query(sk, hv, n, estimate + i);
		else
			for (k = 0; k < n; k++)
				estimate[i + k] = sk->encoding == QS_EXPLICIT
									  ? qs_explicit_get(sk, fingerprint[i + k])
									  : qs_estimate_compact(sk, hv[k]);
	}
}

static size_t
cpu_batch(const qs_sketch *sk)
{
	(void) sk;
	return QS_BATCH;
}

const qs_engine qs_engine_cpu = {
	.insert = cpu_insert,
	.remove = cpu_remove,
	.merge = qs_merge_deferred,
	.materialize = qs_materialize,
	.batch = cpu_batch,
};

/* ---- the most frequent keys ---- */

/* The selected rows of a batch whose keys are no candidates. */
typedef struct strangers
{
	size_t count;
	uint64_t fingerprint[QS_BATCH];
	uint32_t row[QS_BATCH];
} strangers;

/*
 * Count the selected keys that are candidates, and collect all other selected keys.  Every
 * candidate has an estimate of at least the threshold, so only selected keys can be candidates.
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
 * Count a row of a key that is a candidate.  An earlier row of the batch may have made the key a
 * candidate.  Make any other key a candidate if its estimate is above the threshold, and the row's
 * weight is not 0.
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

/*
 * Count the keys in "others" that became candidates in this batch, and make candidates of the other
 * keys whose estimates are above the threshold.
 */
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
 * Set "before" of the new candidates of this batch.  "before" is the largest weight that the key
 * may have had before the batch.  A candidate's estimate includes the rows of the batch, so their
 * weights, which are in "lower", are subtracted.
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
