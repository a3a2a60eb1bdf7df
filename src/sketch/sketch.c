/*
 * sketch.c
 *		Creates and copies sketches, and changes their encoding and counter width.
 *
 * To change encoding or width, a function builds a new sketch, and releases the old sketch when the
 * new sketch is complete.  So the old sketch is unchanged if memory runs out.  This file copies
 * tables as bytes, and leaves the layout of a table to the structure's qs_ops.
 *
 * src/sketch/sketch.c
 */
#include "sketch/cells.h"
#include "sketch/compact.h"
#include "sketch/explicit.h"
#include "sketch/multilevel.h"
#include "sketch/pieces.h"
#include "sketch/sf.h"
#include "sketch/sketch.h"

static const qs_ops *const ops[QS_STRUCTURES] = {
	[QS_THREAD] = &qs_thread_ops,         [QS_WARP] = &qs_bucketed_ops,
	[QS_HALF_WARP] = &qs_bucketed_ops,    [QS_SUB_WARP] = &qs_bucketed_ops,
	[QS_MULTILEVEL] = &qs_multilevel_ops, [QS_SF] = &qs_sf_ops,
};

const qs_ops *
qs_ops_of(int structure)
{
	return ops[structure];
}

void
qs_init(qs_sketch *sk, const qs_params *p, const qb_memory *memory)
{
	memset(sk, 0, sizeof(*sk));
	sk->params = *p;
	sk->encoding = QS_EXPLICIT;
	sk->seed_key = qb_seed_key(p->seed);
	sk->ops = qs_ops_of(p->structure);
	sk->memory = memory;
}

static void
release(const qs_sketch *sk, void *pointer)
{
	if (pointer)
		sk->memory->release(sk->memory->context, pointer);
}

/* Releases entries, tables and carries, but not the masks. */
static void
free_counts(qs_sketch *sk)
{
	release(sk, sk->entries);
	release(sk, sk->table);
	release(sk, sk->extra);
	release(sk, sk->carries);
	sk->entries = sk->table = sk->extra = sk->carries = NULL;
	sk->used = sk->slots = 0;
	sk->extra_used = sk->extra_room = 0;
	sk->carried = sk->merges = 0;
}

void
qs_free(qs_sketch *sk)
{
	free_counts(sk);
	release(sk, sk->masks);
	sk->masks = NULL;
}

/* Allocates zeroed tables of a dense sketch, for multilevel with "room" high buckets. */
static qb_status
alloc_tables(qs_sketch *sk, uint64_t room)
{
	uint64_t table = qs_table_bytes(&sk->params, sk->wide);
	uint64_t extra = qs_extra_bytes(&sk->params, sk->wide);

	sk->table = sk->extra = NULL;
	sk->extra_used = sk->extra_room = 0;
	if (sk->ops->live_extra)
	{
		extra *= room;
		sk->extra_room = room;
	}
	if (table > 0 && !(sk->table = sk->memory->alloc(sk->memory->context, table)))
		return QB_NO_MEMORY;
	if (extra > 0 && !(sk->extra = sk->memory->alloc(sk->memory->context, extra)))
	{
		release(sk, sk->table);
		sk->table = NULL;
		return QB_NO_MEMORY;
	}
	return QB_OK;
}

qb_status
qs_make_masks(qs_sketch *sk)
{
	uint32_t m = qs_bucket_width(sk->params.structure);
	uint32_t count = qs_mask_count(&sk->params);
	uint32_t i;

	if (sk->masks || m == 0)
		return QB_OK;
	sk->masks = sk->memory->alloc(sk->memory->context, count * sizeof(uint32_t));
	if (!sk->masks)
		return QB_NO_MEMORY;
	for (i = 0; i < count; i++)
		sk->masks[i] = qs_mask(sk->seed_key, m, sk->params.depth, i);
	return QB_OK;
}

static qb_status
start_tables(qs_sketch *sk, uint64_t room)
{
	qb_status status = alloc_tables(sk, room);

	if (status == QB_OK)
		sk->encoding = QS_DENSE;
	return status;
}

/* Makes masks and empty tables.  On failure the masks may remain, which qs_free() releases. */
static qb_status
start_dense(qs_sketch *sk, uint64_t room)
{
	qb_status status = qs_make_masks(sk);

	return status == QB_OK ? start_tables(sk, room) : status;
}

qb_status
qs_start_tables(qs_sketch *sk, bool wide)
{
	sk->wide = wide;
	return start_tables(sk, 0);
}

qb_status
qs_start_dense(qs_sketch *sk, bool wide)
{
	sk->wide = wide;
	return start_dense(sk, 0);
}

/*
 * Adds all entries of an explicit sketch to a dense sketch, whose counters are wide enough for N.
 */
static qb_status
add_entries(qs_sketch *dense, const qs_sketch *from)
{
	uint64_t position = 0;
	qs_entry e;

	while (qs_explicit_next(from, &position, &e))
	{
		uint64_t hv = qb_hash(e.fingerprint, dense->seed_key);

		if (dense->ops->reserve && dense->ops->reserve(dense, 1) != QB_OK)
			return QB_NO_MEMORY;
		dense->ops->add(dense, &hv, &e.count, 1);
	}
	return QB_OK;
}

qb_status
qs_make_dense(qs_sketch *sk)
{
	qs_sketch dense = *sk;
	qb_status status;

	if (sk->encoding == QS_DENSE)
		return QB_OK;
	dense.wide = sk->total >= QS_WIDE_TOTAL;
	dense.entries = NULL;
	dense.used = dense.slots = 0;
	status = start_dense(&dense, 0);
	sk->masks = dense.masks;
	if (status == QB_OK)
		status = add_entries(&dense, sk);
	if (status != QB_OK)
	{
		if (dense.encoding == QS_DENSE)
			free_counts(&dense);
		return status;
	}
	free_counts(sk);
	*sk = dense;
	return QB_OK;
}

/* Moves the counters to new tables of 8-byte counters. */
static qb_status
make_wide(qs_sketch *sk)
{
	qb_status status = qs_materialize(sk);
	qs_sketch wide = *sk;

	wide.wide = true;
	if (status != QB_OK || alloc_tables(&wide, sk->extra_room) != QB_OK)
		return QB_NO_MEMORY;
	wide.extra_used = sk->extra_used;
	sk->ops->widen(&wide, sk);
	free_counts(sk);
	*sk = wide;
	return QB_OK;
}

qb_status
qs_materialize(qs_sketch *sk)
{
	qb_status status = sk->carries ? sk->ops->materialize(sk) : QB_OK;

	if (status != QB_OK)
		return status;
	release(sk, sk->carries);
	sk->carries = NULL;
	sk->merges = 0;
	return QB_OK;
}

qb_status
qs_prepare(qs_sketch *sk, int64_t weight)
{
	if (weight > INT64_MAX - sk->total)
		return QB_TOTAL_OVERFLOW;
	if (sk->encoding == QS_DENSE && !sk->wide && sk->total + weight >= QS_WIDE_TOTAL)
		return make_wide(sk);
	return QB_OK;
}

/* Copies the entries of "from" into the hash table of an empty explicit sketch. */
static qb_status
copy_entries(qs_sketch *to, const qs_sketch *from)
{
	uint64_t position = 0;
	qs_entry e;

	while (qs_explicit_next(from, &position, &e))
	{
		size_t done;

		if (qs_explicit_add(to, &e.fingerprint, &e.count, 1, &done) != QB_OK)
			return QB_NO_MEMORY;
	}
	return QB_OK;
}

/* Copies the tables of a dense sketch.  Allocates only the high buckets that are in use. */
static qb_status
copy_tables(qs_sketch *to, const qs_sketch *from)
{
	uint64_t extra = qs_extra_bytes(&from->params, from->wide);
	qb_status status;

	to->wide = from->wide;
	status = start_dense(to, from->extra_used);
	if (status != QB_OK)
		return status;
	to->extra_used = from->extra_used;
	if (from->ops->live_extra)
		extra *= from->extra_used;
	qb_pause(to->memory);
	if (to->table)
		memcpy(to->table, from->table, qs_table_bytes(&from->params, from->wide));
	if (to->extra)
		memcpy(to->extra, from->extra, extra);
	return QB_OK;
}

/* Makes tables with the counters of a compact view. */
static qb_status
copy_compact(qs_sketch *to, const qs_sketch *from)
{
	qb_status status;

	to->wide = from->wide;
	status = start_dense(to, 0);
	return status == QB_OK ? qs_compact_add(to, from) : status;
}

static qb_status
copy_counts(qs_sketch *to, const qs_sketch *from)
{
	if (from->encoding == QS_EXPLICIT)
		return copy_entries(to, from);
	return from->encoding == QS_COMPACT ? copy_compact(to, from) : copy_tables(to, from);
}

qb_status
qs_copy(qs_sketch *to, const qs_sketch *from, const qb_memory *memory)
{
	qb_status status;

	qs_init(to, &from->params, memory);
	to->keys = from->keys;
	to->total = from->total;
	status = copy_counts(to, from);
	if (status != QB_OK)
		qs_free(to);
	return status;
}

/* Makes "to" a copy of the dense sketch "from" with the tables of "part". */
static qb_status
dense_part(qs_sketch *to, const qs_sketch *from, qs_part part, const qb_memory *memory)
{
	qs_params p = from->params;
	qb_status status;

	p.part = (uint8_t) part;
	qs_init(to, &p, memory);
	to->keys = from->keys;
	to->total = from->total;
	status = qs_start_dense(to, from->wide);
	if (status != QB_OK)
	{
		qs_free(to);
		return status;
	}
	if (to->table && from->table)
		memcpy(to->table, from->table, qs_table_bytes(&to->params, to->wide));
	if (to->extra)
		memcpy(to->extra, from->extra, qs_extra_bytes(&to->params, to->wide));
	if (!from->table)
		qs_sf_refresh(to);
	return QB_OK;
}

/*
 * Makes another part of a sketch that is not dense.  If the sketch is explicit, a host part or a
 * full sketch is a copy of its entries.  In all other cases, the sketch is made dense first.
 */
static qb_status
part_without_tables(qs_sketch *to, const qs_sketch *from, qs_part part, const qb_memory *memory)
{
	qs_sketch copy;
	qb_status status = qs_copy(&copy, from, memory);

	if (status == QB_OK && from->encoding == QS_EXPLICIT && part != QS_PART_DEVICE)
	{
		copy.params.part = (uint8_t) part;
		*to = copy;
		return QB_OK;
	}
	if (status == QB_OK)
		status = qs_make_dense(&copy);
	if (status == QB_OK)
		status = dense_part(to, &copy, part, memory);
	qs_free(&copy);
	return status;
}

qb_status
qs_sf_part(qs_sketch *to, const qs_sketch *from, qs_part part, const qb_memory *memory)
{
	bool reachable = part == QS_PART_FULL ? from->params.part == QS_PART_HOST
										  : from->params.part == QS_PART_FULL;

	if (!qs_has_fat(from->params.structure) || !reachable)
		return QB_WRONG_PART;
	return from->encoding == QS_DENSE ? dense_part(to, from, part, memory)
									  : part_without_tables(to, from, part, memory);
}

qb_status
qs_writable(const qs_sketch *sk)
{
	return sk->params.part == QS_PART_DEVICE ? QB_READ_ONLY : QB_OK;
}

int64_t
qs_estimate(const qs_sketch *sk, uint64_t fingerprint)
{
	uint64_t hv = qb_hash(fingerprint, sk->seed_key);
	int64_t estimate;

	if (sk->encoding == QS_EXPLICIT)
		return qs_explicit_get(sk, fingerprint);
	if (sk->encoding == QS_COMPACT)
		return qs_estimate_compact(sk, hv);
	if (sk->ops->query_one)
		return sk->ops->query_one(sk, hv);
	sk->ops->query(sk, &hv, 1, &estimate);
	return estimate;
}

/*
 * The bucket's number is the high part of hv * n.  So the high part of hv * (bytes of the table) is
 * the offset of a byte in this bucket.
 */
void
qs_estimate_soon(const qs_sketch *sk, uint64_t fingerprint)
{
	uint64_t hv = qb_hash(fingerprint, sk->seed_key);

	if (sk->table && !qs_has_rows(sk->params.structure))
		__builtin_prefetch(sk->table + qb_reduce(hv, qs_table_bytes(&sk->params, sk->wide)));
}
