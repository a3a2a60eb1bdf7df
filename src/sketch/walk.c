/*
 * walk.c
 *		The buckets of a sketch that hold something, one after another.
 *
 * src/sketch/walk.c
 */
#include "sketch/walk.h"
#include "sketch/block_present.h"

/* Steps of a bucket, from which callers compute something: 4,096 of them between two pauses. */
#define BUCKET_STEPS (QB_PATIENCE / 4096)

/* ---- dense ---- */

/* Find the next block of buckets that holds something. */
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

/* The bucket of a dense sketch that comes next. */
static uint64_t
found(const qs_walk *walk)
{
	return walk->first + (uint32_t) __builtin_ctzll(walk->bits);
}

/* Read the counters of this bucket, and pass it. */
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

/* Read the next block of any group. */
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

/* Add the block that was read to the counters of its bucket. */
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

/* ---- both ---- */

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
