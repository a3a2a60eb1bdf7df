/*
 * compact_check.c
 *		The compact encoding: its validator.
 *
 * The blocks are read once, as they are for adding.  They must obey what tables must obey:
 * the invariants of buckets and of the total.  The compact encoding must be the one to choose.
 *
 * src/sketch/compact_check.c
 */
#include "sketch/cells.h"
#include "sketch/sf.h"
#include "sketch/block_reader.h"

/* What the blocks were found to be, as far as they were read. */
typedef struct findings
{
	const qs_sketch *view;
	uint64_t present;
	uint64_t together; /* qs_blocks_together() */
	uint64_t bucket;   /* of the blocks that "tally" has */
	uint32_t owned;    /* counters of a bucket that each of its keys owns */
	qs_tally tally;
	unsigned __int128 sum;
	unsigned __int128 least; /* device part: the least and the most that N can be */
	unsigned __int128 most;
	uint64_t rows; /* thread: rows with the right sum */
	uint64_t high; /* multilevel: buckets that have a high bucket in dense encoding */
} findings;

/* A division of 128 bits takes as long as reading a block, and nearly all sums fit in 64 bits. */
QB_INLINE bool
is_multiple(unsigned __int128 sum, uint32_t of)
{
	return sum >> 64 == 0 ? (uint64_t) sum % of == 0 : sum % of == 0;
}

/* All blocks of a bucket of a device part were read: what its keys' weights can be. */
static void
device_bucket_ends(findings *f)
{
	unsigned __int128 shared = (f->tally.sum + f->owned - 1) / f->owned;

	f->least += shared > f->tally.most ? shared : f->tally.most;
	f->most += f->tally.sum * f->view->params.z / f->owned;
}

/* All blocks of a bucket were read.  Do its counters fit each other? */
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
	return is_multiple(f->tally.sum, f->owned) && qs_tally_fits(&f->tally, f->owned);
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

/* Take blocks of one key each as long as they come.  Each is a whole bucket, whose counters fit. */
QB_INLINE void
take_singles(findings *f, qs_block_reader *r, const qs_single *single)
{
	uint64_t present = 0;
	uint64_t index;
	uint32_t mask;

	while (qs_next_single(r, single, &index, &mask))
		present++;
	f->present += present;
	f->sum += present * single->depth;
}

/* The sum of the bytes of a word, which are below 128. */
QB_INLINE uint32_t
sum_of_bytes(uint64_t word)
{
	const uint64_t even = UINT64_C(0x00FF00FF00FF00FF);

	return (uint32_t) (((word & even) + (word >> 8 & even)) * UINT64_C(0x0001000100010001) >> 48);
}

/* Is no byte of a word larger than this?  The bytes are below 128. */
QB_INLINE bool
bytes_within(uint64_t word, uint32_t most)
{
	const uint64_t ones = UINT64_C(0x0101010101010101);
	uint64_t room = (most < 0x7F ? most : 0x7F) * ones + 0x80 * ones - word;

	return (room & 0x80 * ones) == 0x80 * ones;
}

/*
 * Take a small block, a whole bucket.  False if its counters do not fit each other.  None of
 * them exceeds the total if the sum of all blocks is right.
 */
QB_INLINE bool
take_small(findings *f, const qs_small_block *block)
{
	uint32_t sum = sum_of_bytes(block->word);
	uint32_t weight = sum / f->owned;

	f->present++;
	f->sum += sum;
	return weight * f->owned == sum && bytes_within(block->word, weight);
}

/* Take all blocks of a group.  False if they are damaged. */
QB_INLINE bool
take_group(findings *f, qs_block_reader *r, const qs_single *single)
{
	qs_small_block small;
	qs_block block;

	for (;;)
	{
		take_singles(f, r, single);
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

/* All blocks were read.  Do they fit the total, and is this the form to write them in? */
static bool
blocks_fit(const findings *f)
{
	const qs_sketch *view = f->view;
	const qs_params *p = &view->params;
	uint64_t dense = view->ops->table_bytes(p, view->wide);

	dense += view->ops->extra_bytes(p, view->wide) * (view->ops->live_extra ? f->high : 1);
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
	f.owned = qs_has_rows(view->params.structure) ? 1 : view->params.depth;
	while (qs_next_group(&g, &r))
	{
		qb_pause_after(view->memory, &g.steps, 1 + (uint64_t) (r.end - r.next));
		if (!take_group(&f, &r, &single))
			return false;
	}
	return g.start == g.bytes && bucket_ends(&f) && blocks_fit(&f);
}
