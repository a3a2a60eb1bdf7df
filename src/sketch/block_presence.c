/*
 * block_presence.c
 *		Presence bitmap: which blocks of a sketch are present, kept up to date as keys come and go.
 *
 * src/sketch/block_presence.c
 */
#include "sketch/sf.h"
#include "sketch/thread.h"
#include "sketch/block_presence.h"
#include "sketch/block_present.h"

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

		presence[i / QS_PRESENCE_BITS] =
			qs_blocks_present(sk, layout.width, i, left < QS_PRESENCE_BITS ? left : QS_PRESENCE_BITS);
		qb_pause_after(sk->memory, &steps, QS_PRESENCE_BITS);
	}
}

/* The blocks that have counters of a key.  Returns how many. */
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
