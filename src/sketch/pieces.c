/*
 * pieces.c
 *		The few bytes of a serialized sketch that one estimate reads.
 *
 * src/sketch/pieces.c
 */
#include "sketch/format.h"
#include "sketch/multilevel_buckets.h"
#include "sketch/pieces.h"
#include "sketch/thread.h"

/* One counter in each row. */
static uint32_t
thread_pieces(const qs_sketch *view, uint64_t hv, qs_piece *piece)
{
	uint32_t bytes = view->wide ? 8 : 4;
	uint64_t n = view->params.n;
	uint32_t j;

	for (j = 0; j < view->params.depth; j++)
	{
		piece[j].offset = QS_HEADER_BYTES + (n * j + qs_row_cell(hv, j, n)) * bytes;
		piece[j].bytes = bytes;
	}
	return view->params.depth;
}

uint32_t
qs_pieces(const qs_sketch *view, uint64_t hv, qs_piece *piece)
{
	qs_params one = view->params;
	uint64_t bucket = qb_reduce(hv, view->params.n);

	if (qs_has_rows(view->params.structure))
		return thread_pieces(view, hv, piece);
	one.n = 1;
	piece->bytes = (uint32_t) (qs_has_table(&one) ? view->ops->table_bytes(&one, view->wide)
												  : view->ops->extra_bytes(&one, view->wide));
	piece->offset = QS_HEADER_BYTES + bucket * piece->bytes;
	return 1;
}

/*
 * Changes the index in "low" to that of the first high bucket, as the high bucket
 * that is read will be the only one.
 */
bool
qs_high_piece(const qs_sketch *view, uint8_t *low, qs_piece *piece)
{
	uint32_t index;

	if (!qs_has_high(view->params.structure))
		return false;
	index = qb_load32(low + QS_LOW_COUNTERS);
	if (index < QS_HIGH_INDEX_MIN || index - QS_HIGH_INDEX_MIN >= view->extra_used)
		return false;
	qb_store32(low + QS_LOW_COUNTERS, QS_HIGH_INDEX_MIN);
	piece->bytes = (uint32_t) view->ops->extra_bytes(&view->params, view->wide);
	piece->offset = QS_HEADER_BYTES + view->ops->table_bytes(&view->params, view->wide) +
					(uint64_t) (index - QS_HIGH_INDEX_MIN) * piece->bytes;
	return true;
}

void
qs_from_pieces(qs_sketch *one, const qs_sketch *view, uint8_t *bytes)
{
	*one = *view;
	one->params.n = 1;
	one->table = qs_has_table(&one->params) ? bytes : NULL;
	one->extra = one->table ? bytes + view->ops->table_bytes(&one->params, view->wide) : bytes;
	one->extra_used = view->extra_used > 0;
}
