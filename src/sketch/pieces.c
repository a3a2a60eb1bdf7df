/*
 * pieces.c
 *		Reads the bucket of one key from pieces of a stored sketch, and walks over the nonzero
 *		buckets of a sketch.
 *
 * src/sketch/pieces.c
 */
#include "sketch/pieces.h"

#include "sketch/compact_write.h"

/*
 * The maximum size in bytes of the tables of a sketch with one bucket.  A wide full sf sketch with
 * the largest z has this size.
 */
#define ONE_BYTES (QS_SF_WIDTH * (1 + QS_Z_MAX) * 8)

/* Compact data are read in pieces of at most this many bytes.  Most groups are smaller. */
#define BUFFER_BYTES 1024

/* Returns a sketch of one bucket, with tables in "bytes", which has ONE_BYTES zero bytes. */
static qs_sketch
one_bucket(const qs_sketch *view, uint8_t *bytes)
{
	qs_sketch one = *view;

	one.params.n = 1;
	one.encoding = QS_DENSE;
	one.table = qs_has_table(&one.params) ? bytes : NULL;
	one.extra = bytes + qs_table_bytes(&one.params, one.wide);
	one.extra_used = 0;
	one.extra_room = 1;
	return one;
}

static int64_t
estimate_of(const qs_sketch *one, uint64_t hv)
{
	int64_t estimate;

	one->ops->query(one, &hv, 1, &estimate);
	return estimate;
}

/* ---- dense ---- */

/* Reads the key's counter in each row. */
static void
read_counters(const qs_sketch *view, uint64_t hv, const qs_source *source, uint8_t *out)
{
	uint32_t bytes = view->wide ? 8 : 4;
	uint64_t n = view->params.n;
	uint32_t j;

	for (j = 0; j < view->params.depth; j++)
		source->read(source->context, QS_HEADER_BYTES + (n * j + qs_row_cell(hv, j, n)) * bytes,
					 bytes, out + j * bytes);
}

/*
 * Reads the high bucket that the low bucket of "one" names.  Stores the index of the first high
 * bucket in the low bucket, because "one" has only one high bucket.
 */
static void
read_high(const qs_sketch *view, const qs_source *source, qs_sketch *one)
{
	uint32_t index = qb_load32(one->table + QS_LOW_COUNTERS);
	uint32_t bytes = (uint32_t) qs_extra_bytes(&view->params, view->wide);

	if (index < QS_HIGH_INDEX_MIN || index - QS_HIGH_INDEX_MIN >= view->extra_used)
		return;
	qb_store32(one->table + QS_LOW_COUNTERS, QS_HIGH_INDEX_MIN);
	one->extra_used = 1;
	source->read(source->context,
				 QS_HEADER_BYTES + qs_table_bytes(&view->params, view->wide) +
					 (uint64_t) (index - QS_HIGH_INDEX_MIN) * bytes,
				 bytes, one->extra);
}

/* Reads the key's bucket of the table from which estimates are made, and its high bucket. */
static void
read_bucket(const qs_sketch *view, uint64_t hv, const qs_source *source, qs_sketch *one)
{
	bool table = qs_has_table(&one->params);
	uint32_t bytes = (uint32_t) (table ? qs_table_bytes(&one->params, one->wide)
									   : qs_extra_bytes(&one->params, one->wide));

	source->read(source->context, QS_HEADER_BYTES + qb_reduce(hv, view->params.n) * bytes, bytes,
				 table ? one->table : one->extra);
	if (qs_has_high(one->params.structure))
		read_high(view, source, one);
}

static int64_t
estimate_dense(const qs_sketch *view, uint64_t hv, const qs_source *source)
{
	uint8_t bytes[ONE_BYTES] = { 0 };
	qs_sketch one = one_bucket(view, bytes);

	if (qs_has_rows(view->params.structure))
		read_counters(view, hv, source, bytes);
	else
		read_bucket(view, hv, source, &one);
	return estimate_of(&one, hv);
}

/* ---- compact ---- */

/* A range of blocks of a compact sketch, and its destination: block "to" of the sketch "one". */
typedef struct wanted
{
	uint64_t first;
	uint64_t count;
	uint64_t to;
	qs_sketch *one;
} wanted;

/*
 * Adds the wanted blocks that begin before "whole".  A block that begins later may be incomplete in
 * the buffer.  False: no wanted block follows, or the data are damaged.
 */
static bool
add_wanted(const wanted *w, qs_block_reader *r, const uint8_t *whole)
{
	qs_block block;

	while (r->next < whole && qs_read_block(r, &block))
	{
		if (block.index >= w->first + w->count)
			return false;
		if (block.index >= w->first)
			(void) qs_block_add(w->one, w->to + (block.index - w->first), &block);
	}
	return !r->damaged;
}

/* Reads the wanted blocks of a group, whose data are between the offsets "start" and "end". */
static void
read_group(const wanted *w, const qs_source *source, qs_block_reader r, uint64_t start,
		   uint64_t end)
{
	uint8_t buffer[BUFFER_BYTES];
	bool more = true;

	while (more && start < end)
	{
		uint32_t bytes = (uint32_t) (end - start < BUFFER_BYTES ? end - start : BUFFER_BYTES);
		bool last = start + bytes == end;

		source->read(source->context, start, bytes, buffer);
		r.next = buffer;
		r.end = r.limit = buffer + bytes;
		more = add_wanted(w, &r, last ? r.end : r.end - QS_BLOCK_BYTES) && !last;
		start += (uint64_t) (r.next - buffer);
	}
}

/* Reads the wanted blocks, which may be in several groups. */
static void
read_blocks(const qs_sketch *view, const qs_source *source, const wanted *w)
{
	qs_block_layout layout = qs_blocks_of(&view->params);
	uint32_t shift = qs_group_shift(layout.blocks, view->used);
	uint64_t data = QS_HEADER_BYTES + 4 * qb_group_count(layout.blocks, shift);
	uint64_t all = QS_HEADER_BYTES + view->compact_bytes;
	uint64_t group;

	for (group = w->first >> shift; group <= (w->first + w->count - 1) >> shift; group++)
	{
		qs_block_reader r = { .width = layout.width, .mask_bytes = layout.mask_bytes };
		uint8_t ends[8] = { 0 };
		uint64_t start, end;

		r.index = group << shift;
		r.after = (group + 1) << shift;
		if (group == 0)
			source->read(source->context, QS_HEADER_BYTES, 4, ends + 4);
		else
			source->read(source->context, QS_HEADER_BYTES + 4 * (group - 1), 8, ends);
		start = data + qb_load32(ends);
		end = data + qb_load32(ends + 4);
		read_group(w, source, r, start, end < all ? end : all);
	}
}

static int64_t
estimate_compact(const qs_sketch *view, uint64_t hv, const qs_source *source)
{
	uint8_t bytes[ONE_BYTES] = { 0 };
	qs_sketch one = one_bucket(view, bytes);
	uint64_t n = view->params.n;
	uint64_t together = qs_has_extra(&view->params) ? (uint64_t) QS_SF_WIDTH * view->params.z : 1;
	wanted w = { .first = qb_reduce(hv, n) * together, .count = together, .one = &one };

	if (qs_has_rows(view->params.structure))
		for (; w.to < view->params.depth; w.to++)
		{
			w.first = n * w.to + qs_row_cell(hv, (uint32_t) w.to, n);
			read_blocks(view, source, &w);
		}
	else
		read_blocks(view, source, &w);
	return estimate_of(&one, hv);
}

int64_t
qs_estimate_stored(const qs_sketch *view, uint64_t hv, const qs_source *source)
{
	return view->encoding == QS_COMPACT ? estimate_compact(view, hv, source)
										: estimate_dense(view, hv, source);
}

/* qs_source.read for a compact view in memory. */
static void
read_view(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	const qs_sketch *view = context;

	memcpy(out, view->compact + (offset - QS_HEADER_BYTES), bytes);
}

int64_t
qs_estimate_compact(const qs_sketch *view, uint64_t hv)
{
	qs_source source = { .read = read_view, .context = (void *) (uintptr_t) view };

	return estimate_compact(view, hv, &source);
}

/* ---- the counters of one bucket as numbers, for any structure ---- */

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

/*
 * Reads "count" counters, from counter "first" on.  Consecutive results are "stride" counters apart
 * in the table.
 */
QB_INLINE void
read_values(const uint8_t *table, uint64_t first, uint64_t stride, bool wide, uint64_t *value,
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
		read_values(table, bucket, sk->params.n, sk->wide, value, count);
	else if (sk->wide)
		read_values(table, bucket * count, 1, true, value, count);
	else
		read_values(table, bucket * count, 1, false, value, count);
}

/* ---- walking over the buckets of a sketch that are not all zero ---- */

/*
 * The steps that are counted for each bucket, because callers compute with each bucket.  A walk
 * pauses at the latest after 4,096 buckets.
 */
#define BUCKET_STEPS (QB_PATIENCE / 4096)

/* ---- dense ---- */

/*
 * Moves to the next block of 64 buckets that has a nonzero bucket, if all nonzero buckets of the
 * current block were read.  False: no nonzero bucket is left.
 */
static bool
next_block(qs_walk *walk)
{
	while (walk->bits == 0)
	{
		uint64_t left = walk->buckets - walk->next;
		uint64_t count = left < QS_PRESENCE_BITS ? left : QS_PRESENCE_BITS;

		if (count == 0)
			return false;
		walk->first = walk->next;
		walk->next += count;
		walk->bits = qs_blocks_present(walk->sk, walk->counters, walk->first, count);
		qb_pause_after(walk->memory, &walk->steps, count);
	}
	return true;
}

/* Returns the number of the next nonzero bucket of a dense sketch. */
static uint64_t
found(const qs_walk *walk)
{
	return walk->first + (uint32_t) __builtin_ctzll(walk->bits);
}

/* Reads the counters of bucket found(), and moves past this bucket. */
static void
take_found(qs_walk *walk, uint64_t *value)
{
	if (qs_has_rows(walk->sk->params.structure))
		value[0] = qb_counter_get(walk->sk->table, found(walk), walk->sk->wide);
	else
		qs_bucket_read(walk->sk, QS_SIDE_BEST, found(walk), value);
	walk->bits &= walk->bits - 1;
}

static bool
next_dense(qs_walk *walk)
{
	uint64_t value[QS_BUCKET_MAX];
	uint32_t i;

	if (!next_block(walk))
		return false;
	walk->bucket = found(walk) >> walk->shift;
	take_found(walk, walk->value);
	while (walk->shift > 0 && next_block(walk) && found(walk) >> walk->shift == walk->bucket)
	{
		take_found(walk, value);
		for (i = 0; i < walk->counters; i++)
			walk->value[i] += value[i];
	}
	return true;
}

/* ---- compact ---- */

/* Reads the next block, from a later group if necessary.  False: no block is left. */
static bool
read_ahead(qs_walk *walk)
{
	while (!qs_read_block(&walk->reader, &walk->block))
	{
		if (!qs_next_group(&walk->groups, &walk->reader))
			return false;
		qb_pause_after(walk->memory, &walk->steps,
					   1 + (uint64_t) (walk->reader.end - walk->reader.next));
	}
	return true;
}

/* Adds to walk->value the counters of walk->block. */
static void
add_values(qs_walk *walk)
{
	const qs_block *block = &walk->block;
	uint32_t mask = block->mask;
	uint32_t i;

	if (walk->groups.layout.width == 1)
		walk->value[block->index % walk->counters] += block->value[0];
	else
		for (i = 0; i < block->count; mask &= mask - 1, i++)
			walk->value[__builtin_ctz(mask)] += block->value[i];
}

static bool
next_compact(qs_walk *walk)
{
	if (!walk->ahead)
		return false;
	walk->bucket = walk->block.index / walk->blocks;
	memset(walk->value, 0, walk->counters * sizeof(uint64_t));
	do
	{
		add_values(walk);
		walk->ahead = read_ahead(walk);
	}
	while (walk->ahead && walk->block.index / walk->blocks == walk->bucket);
	return true;
}

/* ---- dense and compact ---- */

void
qs_walk_next(qs_walk *walk)
{
	qb_pause_after(walk->memory, &walk->steps, BUCKET_STEPS);
	walk->more = walk->sk->encoding == QS_COMPACT ? next_compact(walk) : next_dense(walk);
}

void
qs_walk_begin(qs_walk *walk, const qs_sketch *sk, uint64_t n, const qb_memory *memory)
{
	bool rows = qs_has_rows(sk->params.structure);

	walk->sk = sk;
	walk->memory = memory;
	walk->counters = rows ? 1 : qs_bucket_counters(sk, QS_SIDE_BEST);
	walk->steps = 0;
	if (sk->encoding == QS_COMPACT)
	{
		walk->blocks = sk->params.n / n * (rows ? 1 : qs_blocks_together(&sk->params));
		walk->groups = qs_groups_of(sk);
		memset(&walk->reader, 0, sizeof(walk->reader));
		walk->ahead = read_ahead(walk);
	}
	else
	{
		walk->buckets = rows ? sk->params.n * sk->params.depth : sk->params.n;
		walk->shift = (uint32_t) __builtin_ctzll(sk->params.n / n);
		walk->next = 0;
		walk->bits = 0;
	}
	qs_walk_next(walk);
}
