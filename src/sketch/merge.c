/*
 * merge.c
 *		Merging, subtracting and folding sketches.
 *
 * Merging and subtracting need equal parameters.  Both use accumulate(), an operation of the
 * structures on dense tables.  Folding walks over the nonzero buckets (pieces.h), and adds these
 * buckets to new tables.
 *
 * src/sketch/merge.c
 */
#include "sketch/merge.h"

#include "sketch/explicit.h"
#include "sketch/pieces.h"

/* The entries of an explicit sketch as arrays. */
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
 * Adds the entries of "from" to "into", and makes "into" dense if "into" has too many entries.  The
 * total of "into" already includes the entries of "from".
 */
static qb_status
add_explicit(qs_sketch *into, const qs_sketch *from)
{
	entry_arrays a;
	size_t n = entries_to_arrays(from, &a);
	size_t done = 0;
	qb_status status = QB_OK;

	if (into->encoding == QS_EXPLICIT)
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

/* Makes an empty dense sketch of n buckets, with counters wide enough for "total". */
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

/*
 * Adds the current bucket of a walk, block by block, to a dense sketch in which this bucket is
 * zero.  A block has "width" counters.
 */
static qb_status
put_bucket(qs_sketch *to, const qs_walk *walk, uint32_t width)
{
	uint64_t index = walk->bucket * (walk->counters / width);
	uint32_t first;
	qb_status status = QB_OK;
	qs_block unit;

	unit.mask = UINT32_MAX >> (32 - width);
	unit.count = width;
	for (first = 0; first < walk->counters && status == QB_OK; first += width)
	{
		memcpy(unit.value, walk->value + first, width * sizeof(*unit.value));
		status = qs_block_add(to, index++, &unit);
	}
	return status;
}

/* Makes "to" a dense sketch of n buckets with the counts of the dense sketch "from". */
static qb_status
fold_dense(qs_sketch *to, const qs_sketch *from, uint64_t n)
{
	uint32_t width = qs_blocks_of(&from->params).width;
	qb_status status = empty_dense(to, from, n, from->total);
	qs_walk walk;

	if (status != QB_OK)
		return status;
	for (qs_walk_begin(&walk, from, n, to->memory); walk.more && status == QB_OK;
		 qs_walk_next(&walk))
		status = put_bucket(to, &walk, width);
	return status;
}

qb_status
qs_fold(qs_sketch *sk, uint64_t n)
{
	qs_sketch folded;
	qs_params target = sk->params;
	qb_status status;

	target.n = n;
	if (n < 1 || !qs_params_fold(&sk->params, &target))
		return QB_NO_FOLD;
	if (n == sk->params.n)
		return QB_OK;
	status = qs_materialize(sk);
	if (status != QB_OK)
		return status;
	if (sk->encoding == QS_EXPLICIT)
	{
		sk->params.n = n;
		return sk->used > qs_explicit_limit(&sk->params) ? qs_make_dense(sk) : QB_OK;
	}
	status = fold_dense(&folded, sk, n);
	if (status != QB_OK)
	{
		qs_free(&folded);
		return status;
	}
	qs_free(sk);
	*sk = folded;
	return QB_OK;
}

bool
qs_mergeable(const qs_sketch *a, const qs_sketch *b)
{
	return qs_params_mergeable(&a->params, &b->params) && qb_keys_match(&a->keys, &b->keys);
}

qb_status
qs_merge_begin(qs_sketch *into, const qs_sketch *from)
{
	qb_status status;

	if (!qs_mergeable(into, from))
		return QB_MISMATCH;
	if (from->total > INT64_MAX - into->total)
		return QB_TOTAL_OVERFLOW;
	status = qs_prepare(into, from->total);
	if (status != QB_OK)
		return status;
	if (from->encoding != QS_EXPLICIT && into->encoding == QS_EXPLICIT)
	{
		int64_t total = into->total;

		/* the total of both sketches decides the width of counters */
		into->total += from->total;
		status = qs_make_dense(into);
		into->total = total;
		if (status != QB_OK)
			return status;
	}
	qb_keys_take(&into->keys, &from->keys);
	into->total += from->total;
	return QB_OK;
}

qb_status
qs_merge(qs_sketch *into, const qs_sketch *from)
{
	qb_status status = qs_merge_begin(into, from);

	if (status != QB_OK)
		return status;
	if (from->encoding == QS_DENSE)
		return into->ops->accumulate(into, from, false);
	return from->encoding == QS_COMPACT ? qs_compact_add(into, from) : add_explicit(into, from);
}

/*
 * If a sketch was not read after a merge, another merge into it is likely.  So carries are deferred
 * from the second merge on.  If a read follows every merge, as in window functions, nothing is
 * deferred.  Merging a compact sketch is not deferred, because a compact sketch has few counters.
 */
qb_status
qs_merge_deferred(qs_sketch *into, const qs_sketch *from)
{
	qb_status status = QB_OK;

	if (into->merges > 0 && !into->carries && into->encoding == QS_DENSE && into->ops->defer &&
		from->encoding == QS_DENSE)
		status = into->ops->defer(into);
	if (status == QB_OK)
		status = qs_merge(into, from);
	if (status == QB_OK && into->merges < UINT32_MAX)
		into->merges++;
	return status;
}

/* Removes either all entries of "from" from "into", or none of them. */
static qb_status
remove_explicit(qs_sketch *into, const qs_sketch *from)
{
	entry_arrays a;
	size_t n = entries_to_arrays(from, &a);
	size_t done;

	if (into->encoding == QS_EXPLICIT)
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

/* Subtracts a sketch that is not compact. */
static qb_status
subtract(qs_sketch *into, const qs_sketch *from)
{
	qb_status status = from->encoding == QS_DENSE ? qs_make_dense(into) : QB_OK;

	if (status != QB_OK)
		return status;
	if (from->encoding == QS_DENSE)
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

	if (!qs_mergeable(into, from))
		return QB_MISMATCH;
	if (into->params.part == QS_PART_DEVICE)
		return QB_READ_ONLY;
	if (from->total > into->total)
		return QB_UNDERFLOW;
	status = qs_materialize(into);
	if (status != QB_OK || from->encoding != QS_COMPACT)
		return status == QB_OK ? subtract(into, from) : status;
	status = qs_copy(&tables, from, into->memory);
	if (status != QB_OK)
		return status;
	status = subtract(into, &tables);
	qs_free(&tables);
	return status;
}

/*
 * ---- slices ----
 *
 * A slice in place is a qs_sketch whose tables begin inside the tables of the whole sketch.  So a
 * structure's accumulate() works on slices without changes.
 */

uint64_t
qs_slice_units(const qs_params *p)
{
	return qs_has_rows(p->structure) ? p->n * p->depth : p->n;
}

/* No keys are added to a slice, so one mask is enough. */
qs_params
qs_slice_params(const qs_params *p, uint64_t count)
{
	qs_params slice = *p;

	slice.n = count;
	slice.log2_masks = 0;
	if (qs_has_rows(p->structure))
		slice.depth = 1;
	return slice;
}

/*
 * Returns a slice in place.  The slice has all high buckets of the sketch, because a slice's high
 * buckets are not stored side by side.
 */
static qs_sketch
slice_of(const qs_sketch *sk, qs_slice units)
{
	qs_params before = qs_slice_params(&sk->params, units.first);
	qs_sketch slice = *sk;

	slice.params = qs_slice_params(&sk->params, units.count);
	if (slice.table)
		slice.table += qs_table_bytes(&before, sk->wide);
	if (slice.extra && qs_has_extra(&sk->params))
		slice.extra += qs_extra_bytes(&before, sk->wide);
	slice.carries = NULL;
	slice.slice = true;
	return slice;
}

/*
 * Allocates the high buckets that adding to a slice may need.  A bucket needs a high bucket if it
 * will have a counter of 256 or more, or if it has a high bucket in "from".  For a slice in place,
 * accumulate() cannot allocate them, because it limits the number of all high buckets of the sketch
 * to the slice's number of buckets.
 */
static qb_status
reserve(qs_sketch *into, qs_slice to, const qs_sketch *from)
{
	uint64_t most = (uint64_t) into->total / 256 + from->extra_used;

	if (!into->ops->reserve || to.count == into->params.n)
		return QB_OK;
	return into->ops->reserve(into, (size_t) (to.count < most ? to.count : most));
}

qb_status
qs_merge_slice(qs_sketch *into, qs_slice to, const qs_sketch *from, qs_slice units)
{
	qb_status status = reserve(into, to, from);
	qs_sketch target = slice_of(into, to);
	qs_sketch source = slice_of(from, units);

	if (status != QB_OK)
		return status;
	status = into->ops->accumulate(&target, &source, false);
	if (into->ops->reserve)
		into->extra = target.extra; /* high buckets may have moved */
	into->extra_used = target.extra_used;
	into->extra_room = target.extra_room;
	return status;
}

qb_status
qs_take_slice(qs_sketch *to, const qs_sketch *from, qs_slice units, const qb_memory *memory)
{
	qs_params params = qs_slice_params(&from->params, units.count);
	qb_status status;

	qs_init(to, &params, memory);
	status = qs_start_tables(to, from->wide);
	if (status == QB_OK)
		status = qs_merge_slice(to, (qs_slice){ 0, units.count }, from, units);
	if (status != QB_OK)
		qs_free(to);
	return status;
}

qb_status
qs_add_slice(qs_sketch *slice, const qs_sketch *from, qs_slice units)
{
	qs_params params = qs_slice_params(&from->params, units.count);
	qb_status status;

	if (qs_has_extra(&params))
		params.part = QS_PART_HOST; /* only the fat tables of sf are added */
	if (slice->params.n == 0)
		qs_init(slice, &params, slice->memory);
	if (!qs_params_mergeable(&slice->params, &params) || !qb_keys_match(&slice->keys, &from->keys))
		return QB_MISMATCH;
	status = qs_prepare(slice, from->total);
	if (status == QB_OK && slice->encoding == QS_EXPLICIT)
		status = qs_start_tables(slice, from->wide || from->total >= QS_WIDE_TOTAL);
	if (status != QB_OK)
		return status;
	qb_keys_take(&slice->keys, &from->keys);
	slice->total += from->total;
	return qs_merge_slice(slice, (qs_slice){ 0, units.count }, from, units);
}
