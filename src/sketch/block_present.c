/*
 * block_present.c
 *		Which blocks of tables hold something, and the bytes of a low bucket's counters.
 *
 * src/sketch/block_present.c
 */
#include "sketch/block_present.h"

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
 * Bytes of the counters of a low bucket that has no high bucket: one for each that is
 * not zero, and one more for each above 127.  The sums of all bytes add up in the top one.
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

/* A bit for each block of so many bytes of which one is not zero; bytes: 4, or a multiple of 8. */
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

/* A bit for each low bucket that has a counter which is not zero. */
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

/* The buckets, of those given as bits from bucket "first" on, whose high buckets hold something. */
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
 * A bit for each bucket that holds something.  The high index does not count: in damaged
 * bytes it may name no high bucket, and a high bucket may hold nothing any more.
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

/* The constants make a loop of its own for each width. */
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
