/*
 * merge.c
 *		Merging, subtracting and folding sketches.
 *
 * All three rest on one operation of the structures, accumulate().  It adds a dense
 * sketch into one that has as many buckets or fewer by a power of two.  Since a
 * bucket is the high part of hv * n, bucket i of a sketch of n/2 buckets has exactly
 * the keys of buckets 2i and 2i+1 of a sketch of n buckets.
 *
 * src/sketch/merge.c
 */
#include "sketch/compact.h"
#include "sketch/explicit.h"
#include "sketch/sketch.h"
#include "sketch/slice.h"

/* The entries of an explicit sketch, which has at most this many. */
typedef struct entry_arrays
{
	uint64_t fingerprint[QS_EXPLICIT_MAX];
	uint64_t hv[QS_EXPLICIT_MAX];
	int64_t count[QS_EXPLICIT_MAX];
} entry_arrays;

static size_t
entries_to_arrays(const qs_sketch *from, entry_arrays *a)
{
	uint64_t position = 0;
	size_t n = 0;
	qs_entry e;

	while (qs_explicit_next(from, &position, &e))
	{
		a->fingerprint[n] = e.fingerprint;
		a->hv[n] = qb_hash(e.fingerprint, from->seed_key);
		a->count[n++] = e.count;
	}
	return n;
}

/*
 * Add the entries of "from" to "into".  The total of "into" includes them already,
 * and "into" turns dense when its entries are too many.
 */
static qb_status
add_explicit(qs_sketch *into, const qs_sketch *from)
{
	entry_arrays a;
	size_t n = entries_to_arrays(from, &a);
	size_t done = 0;
	qb_status status = QB_OK;

	if (into->form == QS_EXPLICIT)
	{
		status = qs_explicit_add(into, a.fingerprint, a.count, n, &done);
		if (status != QB_OK || done == n)
			return status;
		status = qs_make_dense(into);
		if (status != QB_OK)
			return status;
	}
	if (into->ops->reserve)
		status = into->ops->reserve(into, n - done);
	if (status == QB_OK)
		into->ops->add(into, a.hv + done, a.count + done, n - done);
	return status;
}

/* Make an empty dense sketch of n buckets, with counters wide enough for "total". */
static qb_status
empty_dense(qs_sketch *to, const qs_sketch *like, uint64_t n, int64_t total)
{
	qs_params p = like->params;

	p.n = n;
	qs_init(to, &p, like->memory);
	to->keys = like->keys;
	to->total = total;
	return qs_make_dense(to);
}

qb_status
qs_fold(qs_sketch *sk, uint64_t n)
{
	qs_sketch folded;
	qs_params target = sk->params;
	qb_status status;

	target.n = n;
	if (n < 1 || n > sk->params.n || !qs_params_mergeable(&sk->params, &target))
		return QB_NO_FOLD;
	if (n == sk->params.n)
		return QB_OK;
	status = qs_settle(sk);
	if (status != QB_OK)
		return status;
	if (sk->form == QS_EXPLICIT)
	{
		sk->params.n = n;
		return sk->used > qs_explicit_limit(&sk->params) ? qs_make_dense(sk) : QB_OK;
	}
	status = empty_dense(&folded, sk, n, sk->total);
	if (status == QB_OK)
		status = folded.ops->accumulate(&folded, sk, false);
	if (status != QB_OK)
	{
		qs_free(&folded);
		return status;
	}
	qs_free(sk);
	*sk = folded;
	return QB_OK;
}

/* Fold "into" if it has more buckets than "from"; the two are mergeable. */
static qb_status
fold_to(qs_sketch *into, const qs_sketch *from)
{
	return into->params.n > from->params.n ? qs_fold(into, from->params.n) : QB_OK;
}

qb_status
qs_merge_begin(qs_sketch *into, const qs_sketch *from)
{
	qb_status status;

	if (!qs_params_mergeable(&into->params, &from->params))
		return QB_MISMATCH;
	if (from->total > INT64_MAX - into->total)
		return QB_TOTAL_OVERFLOW;
	status = fold_to(into, from);
	if (status == QB_OK)
		status = qs_prepare(into, from->total);
	if (status != QB_OK)
		return status;
	if (from->form != QS_EXPLICIT && into->form == QS_EXPLICIT)
	{
		int64_t total = into->total;

		/* as if with the total of both, so that counters get the width for it */
		into->total += from->total;
		status = qs_make_dense(into);
		into->total = total;
		if (status != QB_OK)
			return status;
	}
	qb_keys_adopt(&into->keys, &from->keys);
	into->total += from->total;
	return QB_OK;
}

qb_status
qs_merge(qs_sketch *into, const qs_sketch *from)
{
	qb_status status = qs_merge_begin(into, from);

	if (status != QB_OK)
		return status;
	if (from->form == QS_DENSE)
		return into->ops->accumulate(into, from, false);
	return from->form == QS_COMPACT ? qs_compact_add(into, from) : add_explicit(into, from);
}

/*
 * If a sketch was merged into and not read since, it will probably be merged into
 * again, so from its second merge on it defers.  Where every merge is followed by a
 * read, as in window functions, nothing is deferred.  The few counters of a compact
 * sketch are no such work.
 */
qb_status
qs_merge_deferred(qs_sketch *into, const qs_sketch *from)
{
	qb_status status = QB_OK;

	if (into->merges > 0 && !into->carries && into->form == QS_DENSE && into->ops->defer &&
		from->form == QS_DENSE)
		status = into->ops->defer(into);
	if (status == QB_OK)
		status = qs_merge(into, from);
	if (status == QB_OK && into->merges < UINT32_MAX)
		into->merges++;
	return status;
}

/* Remove the entries of "from" from "into": all or nothing. */
static qb_status
remove_explicit(qs_sketch *into, const qs_sketch *from)
{
	entry_arrays a;
	size_t n = entries_to_arrays(from, &a);
	size_t done;

	if (into->form == QS_EXPLICIT)
	{
		done = qs_explicit_remove(into, a.fingerprint, a.count, n);
		if (done < n)
			qs_explicit_add(into, a.fingerprint, a.count, done, &(size_t){ 0 });
	}
	else
	{
		done = into->ops->remove(into, a.hv, a.count, n);
		if (done < n)
			into->ops->add(into, a.hv, a.count, done);
	}
	return done < n ? QB_UNDERFLOW : QB_OK;
}

/* Subtract a sketch that is not compact and fits "into", which may have to be folded for it. */
static qb_status
subtract(qs_sketch *into, const qs_sketch *from)
{
	qb_status status = fold_to(into, from);

	if (status == QB_OK && from->form == QS_DENSE)
		status = qs_make_dense(into);
	if (status != QB_OK)
		return status;
	if (from->form == QS_DENSE)
		status = into->ops->accumulate(into, from, true);
	else
		status = remove_explicit(into, from);
	if (status == QB_OK)
		into->total -= from->total;
	return status;
}

qb_status
qs_subtract(qs_sketch *into, const qs_sketch *from)
{
	qs_sketch tables;
	qb_status status;

	if (!qs_params_mergeable(&into->params, &from->params))
		return QB_MISMATCH;
	if (into->params.part == QS_PART_DEVICE)
		return QB_READ_ONLY;
	if (from->total > into->total)
		return QB_UNDERFLOW;
	status = qs_settle(into);
	if (status != QB_OK || from->form != QS_COMPACT)
		return status == QB_OK ? subtract(into, from) : status;
	status = qs_copy(&tables, from, into->memory);
	if (status != QB_OK)
		return status;
	status = subtract(into, &tables);
	qs_free(&tables);
	return status;
}
