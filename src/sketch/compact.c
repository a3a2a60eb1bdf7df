/*
 * compact.c
 *		The compact encoding: its layout, adding it to tables, and its validator.
 *
 * src/sketch/compact.c
 */
#include "sketch/compact.h"

#include "sketch/multilevel.h"

/* A group has at least 2^SHIFT_MIN blocks. */
#define SHIFT_MIN 4

/* On average, a group has at least this many present blocks, unless the sketch has fewer. */
#define PRESENT_IN_GROUP 16

qs_block_layout
qs_blocks_of(const qs_params *p)
{
	if (qs_has_high(p->structure))
		return (qs_block_layout){ .blocks = p->n, .width = QS_LOW_COUNTERS, .mask_bytes = 4 };
	if (qs_has_rows(p->structure))
		return (qs_block_layout){ .blocks = p->n * p->depth, .width = 1 };
	if (qs_has_extra(p))
		return (qs_block_layout){ .blocks = p->n * QS_SF_WIDTH * p->z, .width = 1 };
	return (qs_block_layout){ .blocks = p->n,
							  .width = qs_bucket_width(p->structure),
							  .mask_bytes = qs_bucket_width(p->structure) / 8 };
}

uint32_t
qs_group_shift(uint64_t blocks, uint64_t present)
{
	return qb_group_shift(blocks, present, PRESENT_IN_GROUP, SHIFT_MIN);
}

bool
qs_compact_has_groups(const qs_sketch *view)
{
	uint64_t blocks = qs_blocks_of(&view->params).blocks;

	return 4 * qb_group_count(blocks, qs_group_shift(blocks, view->used)) <= view->compact_bytes;
}

/* ---- adding ---- */

/* Adds a block to a bucket of multilevel.  Carries are added to the high bucket. */
static qb_status
add_bucket(qs_sketch *into, uint64_t bucket, const qs_block *block)
{
	uint8_t *low = qs_low_bucket(into, bucket);
	uint32_t mask = block->mask;
	uint32_t i;

	if (into->extra_used == into->extra_room && into->ops->reserve(into, 1) != QB_OK)
		return QB_NO_MEMORY;
	for (i = 0; i < block->count; mask &= mask - 1, i++)
		qs_low_add_to(into, low, (uint32_t) __builtin_ctz(mask), block->value[i]);
	return QB_OK;
}

QB_INLINE void
add_counter(uint8_t *table, bool wide, uint64_t i, uint64_t value)
{
	qb_counter_set(table, i, wide, qb_counter_get(table, i, wide) + value);
}

/* Raises the slim counter of a fat cell that has grown. */
static void
raise_slim(qs_sketch *sk, uint64_t cell)
{
	uint64_t v = qb_counter_get(sk->extra, cell, sk->wide);
	uint64_t slim = cell / sk->params.z;

	if (sk->table && v > qb_counter_get(sk->table, slim, sk->wide))
		qb_counter_set(sk->table, slim, sk->wide, v);
}

/* Adds a block of "width" counters. */
QB_INLINE qb_status
add_block(qs_sketch *into, uint32_t width, uint64_t index, const qs_block *block)
{
	uint32_t mask = block->mask;
	uint32_t i;

	if (width == QS_LOW_COUNTERS)
		return add_bucket(into, index, block);
	if (qs_has_extra(&into->params))
	{
		add_counter(into->extra, into->wide, index, block->value[0]);
		raise_slim(into, index);
		return QB_OK;
	}
	if (block->count == width && !into->wide)
		for (i = 0; i < width; i++)
			add_counter(into->table, false, index * width + i, block->value[i]);
	else
		for (i = 0; i < block->count; mask &= mask - 1, i++)
			add_counter(into->table, into->wide, index * width + (uint32_t) __builtin_ctz(mask),
						block->value[i]);
	return QB_OK;
}

qb_status
qs_block_add(qs_sketch *into, uint64_t index, const qs_block *block)
{
	return add_block(into, qs_blocks_of(&into->params).width, index, block);
}

/* Adds a small block to its low bucket.  Carries are added to the high bucket. */
QB_INLINE qb_status
add_small_low(qs_sketch *into, const qs_small_block *block)
{
	uint8_t *low = qs_low_bucket(into, block->index);
	uint64_t word = block->word;
	uint32_t mask;

	if (into->extra_used == into->extra_room && into->ops->reserve(into, 1) != QB_OK)
		return QB_NO_MEMORY;
	for (mask = block->mask; mask != 0; mask &= mask - 1, word >>= 8)
		qs_low_add_to(into, low, (uint32_t) __builtin_ctz(mask), word & 0xFF);
	return QB_OK;
}

/* Adds a small block to a bucket of "width" counters. */
QB_INLINE qb_status
add_small(qs_sketch *into, uint32_t width, const qs_small_block *block)
{
	uint64_t word = block->word;
	uint32_t mask;

	if (width == QS_LOW_COUNTERS)
		return add_small_low(into, block);
	for (mask = block->mask; mask != 0; mask &= mask - 1, word >>= 8)
		add_counter(into->table, into->wide, block->index * width + (uint32_t) __builtin_ctz(mask),
					word & 0xFF);
	return QB_OK;
}

/* The maximum number of one-key blocks that wait while their buckets are prefetched. */
#define WAITING 64

typedef struct waiting
{
	uint32_t count;
	uint32_t mask[WAITING];
	uint64_t index[WAITING];
} waiting;

/* Adds 1 to the counters of a low bucket that the mask selects. */
QB_INLINE qb_status
count_in_low(qs_sketch *into, uint64_t bucket, uint32_t mask)
{
	uint8_t *low = qs_low_bucket(into, bucket);

	if (into->extra_used == into->extra_room && into->ops->reserve(into, 1) != QB_OK)
		return QB_NO_MEMORY;
	for (; mask != 0; mask &= mask - 1)
	{
		uint32_t c = (uint32_t) __builtin_ctz(mask);

		if (++low[c] == 0)
		{
			uint8_t *high = qs_high_for_update(into, low);

			qb_counter_set(high, c, into->wide, qb_counter_get(high, c, into->wide) + 1);
		}
	}
	return QB_OK;
}

/* Adds the waiting blocks to their buckets. */
static qb_status
add_waiting(qs_sketch *into, uint32_t width, waiting *w)
{
	qb_status status = QB_OK;
	uint32_t i;

	for (i = 0; i < w->count && status == QB_OK; i++)
	{
		uint32_t mask = w->mask[i];

		if (width == QS_LOW_COUNTERS)
			status = count_in_low(into, w->index[i], mask);
		else
			for (; mask != 0; mask &= mask - 1)
				add_counter(into->table, into->wide,
							w->index[i] * width + (uint32_t) __builtin_ctz(mask), 1);
	}
	w->count = 0;
	return status;
}

/*
 * Reads blocks of one key each into the list of waiting blocks, up to the next block that
 * qs_next_single() refuses.  Adds the waiting blocks whenever the list is full.
 */
QB_INLINE qb_status
take_singles(qs_sketch *into, uint32_t width, qs_block_reader *r, const qs_single *single,
			 waiting *w)
{
	uint64_t bytes = width == QS_LOW_COUNTERS ? QS_LOW_BYTES : width * (into->wide ? 8 : 4);
	qb_status status = QB_OK;

	while (status == QB_OK && qs_next_single(r, single, &w->index[w->count], &w->mask[w->count]))
	{
		__builtin_prefetch(into->table + w->index[w->count] * bytes, 1);
		if (++w->count == WAITING)
			status = add_waiting(into, width, w);
	}
	return status;
}

/* Adds all blocks of a group.  Blocks of one key may still wait afterwards. */
QB_INLINE qb_status
add_group(qs_sketch *into, uint32_t width, qs_block_reader *r, const qs_single *single, waiting *w)
{
	qb_status status = QB_OK;
	qs_small_block small;
	qs_block block;

	while (status == QB_OK)
	{
		status = take_singles(into, width, r, single, w);
		if (status != QB_OK)
			break;
		if (qs_next_small(r, single, &small))
			status = add_small(into, width, &small);
		else if (qs_read_block(r, &block))
			status = add_block(into, width, block.index, &block);
		else
			break;
	}
	return status;
}

qb_status
qs_compact_add(qs_sketch *into, const qs_sketch *from)
{
	qs_groups g = qs_groups_of(from);
	qs_single single = qs_single_of(&from->params);
	qs_block_reader r;
	waiting w;
	qb_status status = QB_OK;

	w.count = 0;
	while (status == QB_OK && qs_next_group(&g, &r))
	{
		qb_pause_after(into->memory, &g.steps, 1 + (uint64_t) (r.end - r.next));
		status = add_group(into, g.layout.width, &r, &single, &w);
	}
	return status == QB_OK ? add_waiting(into, g.layout.width, &w) : status;
}

/*
 * ---- the compact encoding: its validator ----
 *
 * The validator reads all blocks once.  The counters must obey the invariants of their buckets and
 * of the total.  Compact must be the encoding that qs_flat_of() would choose.
 */

/* Results of the validator for the blocks that it has read. */
typedef struct findings
{
	const qs_sketch *view;
	uint64_t present;
	uint64_t together; /* result of qs_blocks_together() */
	uint64_t bucket;   /* number of the bucket whose blocks are in "tally" */
	uint32_t per_key;  /* number of counters that each key of a bucket owns */
	qs_tally tally;
	unsigned __int128 sum;
	unsigned __int128 least; /* device part: the least and the largest possible N */
	unsigned __int128 most;
	uint64_t rows; /* thread: number of rows whose sum is N */
	uint64_t high; /* multilevel: number of buckets that have a high bucket in dense encoding */
} findings;

/*
 * True if the sum is a multiple of "of".  A sum of at most 64 bits needs no 128-bit division, which
 * takes as long as reading a block.
 */
QB_INLINE bool
is_multiple(unsigned __int128 sum, uint32_t of)
{
	return sum >> 64 == 0 ? (uint64_t) sum % of == 0 : sum % of == 0;
}

/* Updates the bounds of N after all blocks of a device part's bucket were read. */
static void
device_bucket_ends(findings *f)
{
	unsigned __int128 shared = (f->tally.sum + f->per_key - 1) / f->per_key;

	f->least += shared > f->tally.most ? shared : f->tally.most;
	f->most += f->tally.sum * f->view->params.z / f->per_key;
}

/*
 * Finishes a bucket after all of its blocks.  True if its counters obey the rule of qs_tally.  A
 * device part need not obey this rule.
 */
static bool
bucket_ends(findings *f)
{
	const qs_params *p = &f->view->params;

	f->sum += f->tally.sum;
	f->high += f->tally.most > 255;
	f->rows += qs_has_rows(p->structure) && f->tally.sum == (uint64_t) f->view->total;
	if (p->part == QS_PART_DEVICE)
	{
		device_bucket_ends(f);
		return true;
	}
	return is_multiple(f->tally.sum, f->per_key) && qs_tally_fits(&f->tally, f->per_key);
}

static bool
take_block(findings *f, const qs_block *block)
{
	uint64_t bucket = f->together == 1 ? block->index : block->index / f->together;
	uint32_t i;

	if (bucket != f->bucket)
	{
		if (!bucket_ends(f))
			return false;
		f->tally = (qs_tally){ 0, 0 };
		f->bucket = bucket;
	}
	for (i = 0; i < block->count; i++)
	{
		if (block->value[i] > (uint64_t) f->view->total)
			return false;
		qs_tally_add(&f->tally, block->value[i]);
	}
	f->present++;
	return true;
}

/*
 * Reads blocks of one key each, up to the next block that qs_next_single() refuses.  Each block is
 * a whole bucket, which obeys the rule of qs_tally without a check.
 */
QB_INLINE void
check_singles(findings *f, qs_block_reader *r, const qs_single *single)
{
	uint64_t present = 0;
	uint64_t index;
	uint32_t mask;

	while (qs_next_single(r, single, &index, &mask))
		present++;
	f->present += present;
	f->sum += present * single->depth;
}

/* Returns the sum of the 8 bytes of a word.  Each byte is below 128. */
QB_INLINE uint32_t
sum_of_bytes(uint64_t word)
{
	const uint64_t even = UINT64_C(0x00FF00FF00FF00FF);

	return (uint32_t) (((word & even) + (word >> 8 & even)) * UINT64_C(0x0001000100010001) >> 48);
}

/* True if no byte of a word is larger than "most".  Each byte is below 128. */
QB_INLINE bool
bytes_within(uint64_t word, uint32_t most)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t room = (most < 0x7F ? most : 0x7F) * ones + 0x80 * ones - word;

	return (room & 0x80 * ones) == 0x80 * ones;
}

/*
 * Checks a small block that is a whole bucket.  False if its counters violate the rule of qs_tally.
 * No counter is compared with the total, because blocks_fit() checks the sum of all blocks.
 */
QB_INLINE bool
take_small(findings *f, const qs_small_block *block)
{
	uint32_t sum = sum_of_bytes(block->word);
	uint32_t weight = sum / f->per_key;

	f->present++;
	f->sum += sum;
	return weight * f->per_key == sum && bytes_within(block->word, weight);
}

/*
 * Checks all blocks of a group.  False if a block is damaged, violates the rule of qs_tally, or has
 * a counter above the total.
 */
QB_INLINE bool
take_group(findings *f, qs_block_reader *r, const qs_single *single)
{
	qs_small_block small;
	qs_block block;

	for (;;)
	{
		check_singles(f, r, single);
		if (qs_next_small(r, single, &small))
		{
			if (!take_small(f, &small))
				return false;
		}
		else if (!qs_read_block(r, &block))
			return !r->damaged;
		else if (!take_block(f, &block))
			return false;
	}
}

/*
 * Checks the results after all blocks.  True if the counters match the total, and compact is the
 * right encoding for them.
 */
static bool
blocks_fit(const findings *f)
{
	const qs_sketch *view = f->view;
	const qs_params *p = &view->params;
	uint64_t dense = qs_tables_bytes(p, view->wide, f->high);

	if (view->compact_bytes > qs_compact_most(dense) || f->present != view->used)
		return false;
	if (p->part == QS_PART_DEVICE)
		return f->least <= (uint64_t) view->total && f->most >= (uint64_t) view->total;
	if (qs_has_rows(p->structure))
		return view->total == 0 ? f->present == 0 : f->rows == p->depth;
	return f->sum == (unsigned __int128) (uint64_t) view->total * p->depth;
}

bool
qs_compact_check(const qs_sketch *view)
{
	findings f = { .view = view };
	qs_groups g = qs_groups_of(view);
	qs_single single = qs_single_of(&view->params);
	qs_block_reader r;

	f.together = qs_blocks_together(&view->params);
	f.per_key = qs_has_rows(view->params.structure) ? 1 : view->params.depth;
	while (qs_next_group(&g, &r))
	{
		qb_pause_after(view->memory, &g.steps, 1 + (uint64_t) (r.end - r.next));
		if (!take_group(&f, &r, &single))
			return false;
	}
	return g.start == g.bytes && bucket_ends(&f) && blocks_fit(&f);
}
