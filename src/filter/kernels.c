/*
 * kernels.c
 *		The plain inner loops of filters.
 *
 * src/filter/kernels.c
 */
#include "filter/kernels.h"

static size_t
busy(uint64_t nonce_key, const uint64_t *row, uint64_t first, size_t count, uint64_t idle,
	 qf_busy *out)
{
	return qf_busy_from(nonce_key, row, first, 0, count, idle, out, 0);
}

static void
positions(const uint64_t *input, size_t count, uint64_t m, uint32_t *position)
{
	qf_positions_from(input, 0, count, m, position);
}

static uint64_t
set(uint8_t *bits, const uint32_t *position, size_t count)
{
	return qf_set_ahead(bits, position, count);
}

static void
query(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, uint32_t *out)
{
	size_t i;

	for (i = 0; i < count; i++)
		out[i] = qf_query_from(bits, p, h[i], 0);
}

static void
blocks_have(const uint8_t *bits, const qf_params *p, const uint64_t *h, size_t count, bool *found)
{
	qf_blocks_have_ahead(bits, p, h, count, found);
}

const qf_kernels qf_kernels_plain = {
	.busy = busy,
	.positions = positions,
	.set = set,
	.query = query,
	.blocks_have = blocks_have,
	.unite = qf_unite,
};
