/*
 * sketch_cpu.c
 *		The CPU engine of sketches: hash a batch, fetch ahead, then add.
 *
 * src/engine/sketch_cpu.c
 */
#include "sketch/explicit.h"
#include "sketch/pieces.h"
#include "engine/sketch_engine.h"
#include "engine/sketch_kernels.h"

/*
 * Insert at most QS_BATCH keys, for whose weight the sketch has room.  Selects among them
 * unless "selection" is NULL.
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
	if (selection && done == 0 && qs_kernels_add_select(sk, hv, weight, count, selection))
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

/* Make the sketch ready for keys to be inserted, and add their weights to its total. */
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
 * Add back the first "count" keys after a removal that failed.  The keys were there
 * before, so neither encoding needs memory for them.
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
