/*
 * compact_write.c
 *		The compact encoding: measuring and writing it.
 *
 * A sketch is measured each time that it is stored, even if it is then written in dense encoding.
 * So the first pass over the tables only counts bytes.  If most blocks are present, the first pass
 * counts all blocks in loops that vectorize.  If few blocks are present, the first pass finds the
 * present blocks before it counts.  The first pass ends early if the blocks take too many bytes for
 * the compact encoding.  All passes process words of 64 neighbouring blocks.
 *
 * The second pass measures the gaps between blocks.  The second pass is needed only if a gap can
 * take two bytes, as in large groups.  The third pass writes.  All passes find blocks with the
 * presence bitmap if there is one, else with fast loops if the sketch has them (compact_write.h).
 *
 * src/sketch/compact_write.c
 */
#include "sketch/compact_write.h"

/* A word is expected to have few present blocks if the preceding word has at most this many. */
#define FEW 16

/*
 * In groups of at most 2^SHORT_GAPS blocks, every gap takes one byte.  Every gap also takes one
 * byte if each word of 64 blocks has a present block.
 */
#define SHORT_GAPS 7

/* Iterates over the present blocks in ascending order. */
typedef struct walk
{
	const qs_sketch *sk;
	qs_block_layout layout;
	uint64_t bits;  /* present blocks of the word that are not yet visited */
	uint64_t word;  /* number of the first block after the word */
	uint64_t block; /* number of the current block */
	uint64_t steps; /* steps since the last pause */
	const uint64_t *presence;
	const qs_block_kernels *fast; /* NULL: there are no fast loops for this sketch */
} walk;

static walk
walk_of(const qs_sketch *sk, const uint64_t *presence)
{
	return (walk){ .sk = sk,
				   .layout = qs_blocks_of(&sk->params),
				   .presence = presence,
				   .fast = qs_blocks_fast(sk) };
}

/* Returns the bits of the present blocks of a word. */
static uint64_t
present_in(const walk *w, uint64_t first, uint64_t count)
{
	return w->presence ? w->presence[first / QS_PRESENCE_BITS]
					   : qs_blocks_present(w->sk, w->layout.width, first, count);
}

/* ---- first pass: counters ---- */

/* The number of present blocks, and the bytes of their counters. */
typedef struct tally
{
	uint64_t present;
	uint64_t bytes;
} tally;

/*
 * Counts a word of blocks of plain counters.  The caller passes the common widths as constants, so
 * the compiler makes a loop for each of these widths.
 */
QB_INLINE void
count_cells(const uint8_t *table, bool wide, uint32_t width, uint64_t first, uint64_t count,
			tally *all)
{
	uint64_t i;

	for (i = first; i < first + count; i++)
	{
		uint32_t bytes = 0;
		uint32_t c;

		for (c = 0; c < width; c++)
			bytes += qs_counter_bytes(qb_counter_get(table, i * width + c, wide), wide);
		all->present += bytes != 0;
		all->bytes += bytes;
	}
}

static void
count_buckets(const qs_sketch *sk, uint64_t first, uint64_t count, tally *all)
{
	uint64_t b;

	for (b = first; b < first + count; b++)
	{
		uint32_t bytes = qs_bucket_bytes(sk, qs_low_bucket(sk, b));

		all->present += bytes != 0;
		all->bytes += bytes;
	}
}

/* Counts a word of blocks.  The common widths of 4-byte counters have loops of their own. */
static void
count_block(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count, tally *all)
{
	const uint8_t *table = qs_block_table(sk);

	if (qs_has_high(sk->params.structure))
		count_buckets(sk, first, count, all);
	else if (sk->wide)
		count_cells(table, true, width, first, count, all);
	else if (width == 1)
		count_cells(table, false, 1, first, count, all);
	else if (width == 8)
		count_cells(table, false, 8, first, count, all);
	else
		count_cells(table, false, width, first, count, all);
}

/*
 * Counts the present blocks of a word, with one call for each block.  If few blocks are present,
 * these calls are faster than a loop over all blocks.
 */
static void
count_few(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t bits, tally *all)
{
	for (; bits != 0; bits &= bits - 1)
		count_block(sk, width, first + (uint32_t) __builtin_ctzll(bits), 1, all);
}

/* Counts the present blocks of a word by fast loops. */
static void
count_fast(const qs_sketch *sk, const qs_block_kernels *fast, uint32_t width, uint64_t first,
		   uint64_t bits, tally *all)
{
	uint64_t apart = 0;

	all->present += (uint64_t) __builtin_popcountll(bits);
	if (!qs_has_high(sk->params.structure))
	{
		all->bytes += fast->measure_cells(qs_block_table(sk) + first * width * 4, width, bits);
		return;
	}
	all->bytes += fast->measure_low(qs_low_bucket(sk, first), bits, &apart);
	for (; apart != 0; apart &= apart - 1)
		all->bytes +=
			qs_bucket_bytes(sk, qs_low_bucket(sk, first + (uint32_t) __builtin_ctzll(apart)));
}

/* Counts a word.  "few" is true if the preceding word has few present blocks. */
static void
tally_word(const walk *w, uint64_t first, uint64_t count, bool few, tally *all)
{
	uint32_t width = w->layout.width;

	if (w->presence && w->presence[first / QS_PRESENCE_BITS] == 0)
		return;
	if (w->fast)
		count_fast(w->sk, w->fast, width, first, present_in(w, first, count), all);
	else if (few || w->presence)
		count_few(w->sk, width, first, present_in(w, first, count), all);
	else
		count_block(w->sk, width, first, count, all);
}

/* ---- second pass: gaps ---- */

static uint32_t
varint_bytes(uint64_t v)
{
	return v == 0 ? 1 : (63 - (uint32_t) __builtin_clzll(v)) / 7 + 1;
}

/*
 * Moves to the next word with a present block, if all present blocks of the current word were
 * visited.  False: no block is left.
 */
static bool
walk_block(walk *w)
{
	while (w->bits == 0)
	{
		uint64_t left = w->layout.blocks - w->word;

		if (left == 0)
			return false;
		if (left > QS_PRESENCE_BITS)
			left = QS_PRESENCE_BITS;
		w->bits = present_in(w, w->word, left);
		w->word += left;
		qb_pause_after(w->sk->memory, &w->steps, QS_PRESENCE_BITS);
	}
	return true;
}

/* Returns the number of the word's first block. */
QB_INLINE uint64_t
walk_first(const walk *w)
{
	return (w->word - 1) / QS_PRESENCE_BITS * QS_PRESENCE_BITS;
}

static bool
walk_next(walk *w)
{
	if (!walk_block(w))
		return false;
	w->block = walk_first(w) + (uint32_t) __builtin_ctzll(w->bits);
	w->bits &= w->bits - 1;
	return true;
}

/* Returns the bytes of all gaps, for groups of 2^shift blocks. */
static uint64_t
gap_bytes(const qs_sketch *sk, const uint64_t *presence, uint32_t shift)
{
	walk w = walk_of(sk, presence);
	qs_gaps gaps = { .shift = shift };
	uint64_t bytes = 0;

	while (walk_next(&w))
		bytes += varint_bytes(qs_gap_before(&gaps, w.block));
	return bytes;
}

bool
qs_compact_fits(const qs_sketch *sk, uint64_t dense, qs_compact_size *size)
{
	walk w = walk_of(sk, size->presence);
	qs_block_layout layout = w.layout;
	uint64_t most = qs_compact_most(dense);
	tally all = { 0, 0 };
	bool long_gaps = false;
	uint64_t before = 0;
	uint32_t shift;
	uint64_t i;

	for (i = 0; i < layout.blocks; i += QS_PRESENCE_BITS)
	{
		uint64_t left = layout.blocks - i;
		bool few = all.present - before <= FEW;

		before = all.present;
		tally_word(&w, i, left < QS_PRESENCE_BITS ? left : QS_PRESENCE_BITS, few, &all);
		long_gaps |= all.present == before;
		if (all.bytes + all.present * (1 + layout.mask_bytes) > most)
			return false;
		qb_pause_after(sk->memory, &w.steps, QS_PRESENCE_BITS);
	}
	shift = qs_group_shift(layout.blocks, all.present);
	all.bytes += all.present * layout.mask_bytes + 4 * qb_group_count(layout.blocks, shift);
	all.bytes +=
		shift <= SHORT_GAPS || !long_gaps ? all.present : gap_bytes(sk, size->presence, shift);
	size->present = all.present;
	size->bytes = all.bytes;
	return all.bytes <= most && all.bytes <= UINT32_MAX;
}

/* ---- third pass: writing ---- */

/* Returns the top bits of a word's 8 bytes as one byte.  All other bits of the word are zero. */
QB_INLINE uint32_t
top_bits(uint64_t word)
{
	return (uint32_t) ((word >> 7) * UINT64_C(0x0102040810204080) >> 56);
}

/* Writes the mask and the counters of a low bucket that has no high bucket. */
static uint8_t *
put_low(uint8_t *out, const uint8_t *low)
{
	uint32_t mask = 0;
	uint32_t i;

	for (i = 0; i < QS_LOW_WORDS; i++)
		mask |= top_bits(qs_nonzero_bytes(qs_low_word(low, i))) << (8 * i);
	qb_store32(out, mask);
	for (out += sizeof(mask); mask != 0; mask &= mask - 1)
		out = qs_put_varint(out, low[__builtin_ctz(mask)]);
	return out;
}

/* Writes the mask, if blocks have one, and the counters that are not zero. */
QB_INLINE uint8_t *
put_counters(uint8_t *out, uint32_t width, uint32_t mask_bytes, const uint64_t *value)
{
	uint8_t *mask_at = out;
	uint32_t mask = 0;
	uint32_t c;

	out += mask_bytes;
	for (c = 0; c < width; c++)
		if (value[c] != 0)
		{
			mask |= UINT32_C(1) << c;
			out = qs_put_varint(out, value[c]);
		}
	for (c = 0; c < mask_bytes; c++)
		mask_at[c] = (uint8_t) (mask >> (8 * c));
	return out;
}

static uint8_t *
put_block(uint8_t *out, const qs_sketch *sk, const qs_block_layout *layout, uint64_t block)
{
	const uint8_t *table = qs_block_table(sk);
	uint64_t value[QS_MASK_BITS_MAX];
	uint32_t c;

	if (qs_has_high(sk->params.structure))
	{
		const uint8_t *low = qs_low_bucket(sk, block);

		if (!qs_high_of(sk, low))
			return put_low(out, low);
		qs_multilevel_values(sk, block, value);
		return put_counters(out, layout->width, layout->mask_bytes, value);
	}
	for (c = 0; c < layout->width; c++)
		value[c] = qb_counter_get(table, block * layout->width + c, sk->wide);
	return put_counters(out, layout->width, layout->mask_bytes, value);
}

/* Writes the present blocks of a word.  Each block has one counter. */
static void
put_singles(qs_block_writer *writer, walk *w)
{
	const uint8_t *table = qs_block_table(w->sk);
	uint64_t first = walk_first(w);

	for (; w->bits != 0; w->bits &= w->bits - 1)
	{
		uint64_t block = first + (uint32_t) __builtin_ctzll(w->bits);

		qs_blocks_begin(writer, block);
		writer->next = qs_put_varint(writer->next, qb_counter_get(table, block, w->sk->wide));
	}
}

/* Writes blocks of a word by a fast loop, up to the first block that is not short. */
static void
put_short(qs_block_writer *writer, walk *w, const uint8_t *limit)
{
	uint64_t first = walk_first(w);
	uint32_t width = w->layout.width;

	if (!w->fast)
		return;
	if (qs_has_high(w->sk->params.structure) && w->fast->put_low)
		w->bits = w->fast->put_low(writer, limit, qs_low_bucket(w->sk, first), first, w->bits);
	else if (!qs_has_high(w->sk->params.structure) && w->fast->put_cells)
		w->bits = w->fast->put_cells(writer, limit, qs_block_table(w->sk) + first * width * 4,
									 width, first, w->bits);
}

void
qs_compact_write(const qs_sketch *sk, const qs_compact_size *size, uint8_t *out)
{
	walk w = walk_of(sk, size->presence);
	qs_block_writer writer = qs_blocks_start(w.layout.blocks, size->present, out);

	while (walk_block(&w))
	{
		if (w.layout.width == 1)
			put_singles(&writer, &w);
		else
			put_short(&writer, &w, out + size->bytes);
		if (w.bits == 0)
			continue;
		walk_next(&w);
		qs_blocks_begin(&writer, w.block);
		writer.next = put_block(writer.next, sk, &w.layout, w.block);
	}
	qs_blocks_end(&writer);
}

/* ---- which blocks are present, and how many bytes the counters of a low bucket take ---- */

static uint32_t
high_bytes(const qs_sketch *sk, const uint8_t *low, const uint8_t *high)
{
	uint32_t bytes = 0;
	uint32_t c;

	for (c = 0; c < QS_LOW_COUNTERS; c++)
		bytes += qs_counter_bytes(qs_multilevel_get(low, high, sk->wide, c), true);
	return bytes;
}

/*
 * Returns the bytes of the counters of a low bucket without a high bucket: one byte for each
 * counter of 1 to 127, and two bytes for each larger counter.  The multiplication sums the bytes of
 * a word in its top byte.
 */
QB_INLINE uint32_t
low_bytes(const uint8_t *low)
{
	uint64_t sums = 0;
	uint32_t i;

	for (i = 0; i < QS_LOW_WORDS; i++)
	{
		uint64_t word = qs_low_word(low, i);

		sums += (qs_nonzero_bytes(word) >> 7) + (word >> 7 & QS_EVERY_BYTE(1));
	}
	return (uint32_t) (sums * QS_EVERY_BYTE(1) >> 56);
}

uint32_t
qs_bucket_bytes(const qs_sketch *sk, const uint8_t *low)
{
	const uint8_t *high = qs_high_of(sk, low);

	return high ? high_bytes(sk, low, high) : low_bytes(low);
}

/*
 * Returns a bit for each block that is not all zero.  Blocks have "bytes" bytes: 4, or a multiple
 * of 8.
 */
QB_INLINE uint64_t
nonzero_blocks(const uint8_t *table, uint32_t bytes, uint64_t count)
{
	uint64_t bits = 0;
	uint64_t i;
	uint32_t c;

	for (i = 0; i < count; i++, table += bytes)
	{
		uint64_t all = bytes == 4 ? qb_load32(table) : 0;

		for (c = 0; c + 8 <= bytes; c += 8)
			all |= qb_load64(table + c);
		bits |= (uint64_t) (all != 0) << i;
	}
	return bits;
}

/* Returns a bit for each low bucket that has a counter which is not zero. */
static uint64_t
present_low(const uint8_t *low, uint64_t count)
{
	uint64_t bits = 0;
	uint64_t i;

	for (i = 0; i < count; i++, low += QS_LOW_BYTES)
	{
		uint64_t all =
			qs_low_word(low, 0) | qs_low_word(low, 1) | qs_low_word(low, 2) | qs_low_word(low, 3);

		bits |= (uint64_t) (all != 0) << i;
	}
	return bits;
}

static const qs_block_kernels *
no_kernels(void)
{
	return NULL;
}

const qs_block_kernels *(*qs_block_kernels_now)(void) = no_kernels;

const qs_block_kernels *
qs_blocks_fast(const qs_sketch *sk)
{
	const qs_block_kernels *fast = qs_block_kernels_now();

	return fast && fast->present_low && (!sk->wide || qs_has_high(sk->params.structure)) ? fast
																						 : NULL;
}

/*
 * Returns the bits of "bits" whose buckets have a high bucket that is not all zero.  Bit 0 stands
 * for bucket "first".
 */
static uint64_t
present_high(const qs_sketch *sk, uint64_t first, uint64_t bits)
{
	uint64_t found = 0;

	for (; bits != 0; bits &= bits - 1)
	{
		const uint8_t *low = qs_low_bucket(sk, first + (uint32_t) __builtin_ctzll(bits));
		const uint8_t *high = qs_high_of(sk, low);

		if (high && high_bytes(sk, low, high) > 0)
			found |= bits & -bits;
	}
	return found;
}

/*
 * Returns a bit for each bucket that is not all zero.  A nonzero high index does not suffice: the
 * high bucket may be all zero, and in damaged bytes the index may name no high bucket.
 */
static uint64_t
present_buckets(const qs_sketch *sk, uint64_t first, uint64_t count)
{
	const qs_block_kernels *fast = qs_blocks_fast(sk);
	const uint8_t *low = qs_low_bucket(sk, first);
	uint64_t all = UINT64_MAX >> (64 - count);
	uint64_t bits = fast ? fast->present_low(low, count) : present_low(low, count);

	if (sk->extra_used > 0)
		bits |= present_high(sk, first, (fast ? fast->have_index(low, count) : all) & ~bits);
	return bits;
}

/* Passes the common sizes as constants, so the compiler makes a loop for each of these sizes. */
uint64_t
qs_blocks_present(const qs_sketch *sk, uint32_t width, uint64_t first, uint64_t count)
{
	uint32_t bytes = width * (sk->wide ? 8 : 4);
	const uint8_t *table = qs_block_table(sk) + first * bytes;
	const qs_block_kernels *fast = qs_blocks_fast(sk);

	if (qs_has_high(sk->params.structure))
		return present_buckets(sk, first, count);
	if (fast)
		return fast->present_cells(table, bytes, count);
	if (bytes == 4)
		return nonzero_blocks(table, 4, count);
	if (bytes == 32)
		return nonzero_blocks(table, 32, count);
	return nonzero_blocks(table, bytes, count);
}

/* ---- presence bitmap: updated when keys are added and removed ---- */

uint64_t
qs_presence_words(const qs_params *p)
{
	return (qs_blocks_of(p).blocks - 1) / QS_PRESENCE_BITS + 1;
}

void
qs_presence_all(const qs_sketch *sk, uint64_t *presence)
{
	qs_block_layout layout = qs_blocks_of(&sk->params);
	uint64_t steps = 0;
	uint64_t i;

	for (i = 0; i < layout.blocks; i += QS_PRESENCE_BITS)
	{
		uint64_t left = layout.blocks - i;

		presence[i / QS_PRESENCE_BITS] = qs_blocks_present(
			sk, layout.width, i, left < QS_PRESENCE_BITS ? left : QS_PRESENCE_BITS);
		qb_pause_after(sk->memory, &steps, QS_PRESENCE_BITS);
	}
}

/*
 * Writes to "block" the numbers of the blocks that contain a key's counters.  Returns the number of
 * these blocks.
 */
static uint32_t
blocks_of_key(const qs_sketch *sk, uint64_t hv, uint64_t *block)
{
	if (qs_has_rows(sk->params.structure))
		qs_thread_cells(sk, hv, block);
	else if (qs_has_extra(&sk->params))
		qs_sf_fat_cells(sk, hv, block);
	else
	{
		block[0] = qb_reduce(hv, sk->params.n);
		return 1;
	}
	return sk->params.depth;
}

void
qs_presence_keys(const qs_sketch *sk, uint64_t *presence, const uint64_t *fingerprint, size_t count)
{
	uint32_t width = qs_blocks_of(&sk->params).width;
	uint64_t block[QS_DEPTH_MAX];
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t blocks = blocks_of_key(sk, qb_hash(fingerprint[i], sk->seed_key), block);
		uint32_t u;

		for (u = 0; u < blocks; u++)
		{
			uint64_t *word = &presence[block[u] / QS_PRESENCE_BITS];
			uint64_t bit = UINT64_C(1) << block[u] % QS_PRESENCE_BITS;

			*word = qs_blocks_present(sk, width, block[u], 1) ? *word | bit : *word & ~bit;
		}
	}
}
