/*
 * pieces.c
 *		Looking up a key in the few bytes of a serialized filter that it takes.
 *
 * src/filter/pieces.c
 */
#include "filter/compact.h"
#include "filter/format.h"
#include "filter/pieces.h"

/* Where a group's data lie among all data; nowhere if that is damaged. */
typedef struct place
{
	uint64_t start;
	uint64_t bytes;
} place;

static place
find_group(const qf_filter *view, uint64_t group, const qf_source *source)
{
	uint64_t table = qf_group_table(&view->params, view->ones);
	uint64_t last = table / 4;
	uint64_t first = group > 0 ? group - 1 : 0;
	uint64_t start = 0;
	uint64_t end = view->compact_bytes - table;
	uint64_t most = end;
	uint8_t ends[8];

	if (last > 0)
		source->read(source->context, QF_HEADER_BYTES + 4 * first,
					 group > 0 && group < last ? 8 : 4, ends);
	if (group > 0)
		start = qb_load32(ends);
	if (group < last)
		end = qb_load32(ends + 4 * (group - first));
	if (start > end || end > most || end - start > QF_GROUP_BYTES)
		return (place){ 0, 0 };
	return (place){ start, end - start };
}

/* The bits from "first" on, which lie in one group, as they are in dense encoding. */
static void
read_compact(const qf_filter *view, uint32_t first, uint32_t bytes, uint8_t *bits,
			 const qf_source *source)
{
	uint64_t number = (uint64_t) first >> qf_group_shift(view->params.m, view->ones);
	place at = find_group(view, number, source);
	uint64_t table = qf_group_table(&view->params, view->ones);
	uint8_t data[QF_GROUP_BYTES];
	uint32_t position;
	qf_group group;

	memset(bits, 0, bytes);
	if (at.bytes > 0)
		source->read(source->context, QF_HEADER_BYTES + table + at.start, (uint32_t) at.bytes,
					 data);
	group = qf_group_of(view, number, data, at.bytes);
	while (qf_group_next(&group, &position) && position < first + UINT64_C(8) * bytes)
		if (position >= first)
			qf_set_bit(bits, position - first);
}

static void
read_bits(const qf_filter *view, uint32_t first, uint32_t bytes, uint8_t *bits,
		  const qf_source *source)
{
	if (view->encoding == QF_ENCODING_COMPACT)
		read_compact(view, first, bytes, bits, source);
	else
		source->read(source->context, QF_HEADER_BYTES + first / 8, bytes, bits);
}

/* How many positions of h are set in its block. */
static uint32_t
count_block(const qf_filter *view, uint64_t h, const qf_source *source)
{
	uint8_t block[QF_BLOCK_BITS / 8];
	qf_params p = view->params;
	uint32_t set = 0;
	uint32_t j;

	read_bits(view, qf_block(h, p.m), sizeof(block), block, source);
	p.m = QF_BLOCK_BITS;
	for (j = 0; j < p.k; j++)
		set += qf_bit(block, qf_any_position(&p, h, j));
	return set;
}

uint32_t
qf_count_stored(const qf_filter *view, uint64_t h, bool all, const qf_source *source)
{
	uint32_t set = 0;
	uint32_t j;

	if (view->params.layout == QF_BLOCKED)
		return count_block(view, h, source);
	for (j = 0; j < view->params.k && (set == j || !all); j++)
	{
		uint32_t position = qf_position(h, j, view->params.m);
		uint8_t byte;

		read_bits(view, position / 8 * 8, 1, &byte, source);
		set += qf_bit(&byte, position % 8);
	}
	return set;
}

static void
read_memory(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	memcpy(out, (const uint8_t *) context + offset, bytes);
}

uint32_t
qf_count_compact(const qf_filter *view, uint64_t h, bool all)
{
	/* A view is never written to; its bytes go through a context for any source. */
	qf_source source = { .read = read_memory,
						 .context = (uint8_t *) (uintptr_t) view->compact - QF_HEADER_BYTES };

	return qf_count_stored(view, h, all, &source);
}
