/*
 * sketch_tables.c
 *		The tables of a sketch on their way through slots, piece by piece.
 *
 * src/gpu/sketch_tables.c
 */
#include "gpu/sketch_client.h"

void
GpuShapeOf(GpuSketchShape *shape, const qs_sketch *sk)
{
	uint64 extra = qs_extra_bytes(&sk->params, sk->wide);

	Assert(sk->encoding == QS_DENSE);
	shape->params = sk->params;
	shape->total = sk->total;
	shape->wide = sk->wide;
	shape->table_bytes = sk->table ? qs_table_bytes(&sk->params, sk->wide) : 0;
	shape->extra_used = sk->extra_used;
	shape->extra_bytes = sk->ops->live_extra ? extra * sk->extra_used : extra;
	if (sk->extra == NULL)
		shape->extra_bytes = 0;
}

/* Room for just the high buckets that a multilevel sketch has. */
static qb_status
make_extra(qs_sketch *sk, const GpuSketchShape *shape)
{
	if (sk->extra)
		sk->memory->release(sk->memory->context, sk->extra);
	sk->extra = NULL;
	sk->extra_used = sk->extra_room = 0;
	if (shape->extra_bytes == 0)
		return QB_OK;
	sk->extra = sk->memory->alloc(sk->memory->context, shape->extra_bytes);
	if (sk->extra == NULL)
		return QB_NO_MEMORY;
	sk->extra_used = sk->extra_room = shape->extra_used;
	return QB_OK;
}

qb_status
GpuSketchMakeTables(qs_sketch *sk, const GpuSketchShape *shape)
{
	qb_status status = qs_start_dense(sk, shape->wide);

	if (status == QB_OK && sk->ops->live_extra)
		status = make_extra(sk, shape);
	sk->total = shape->total;
	return status;
}

/* Where a piece starts, and how many of its bytes are there in one run. */
static uint8 *
find_piece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 *bytes)
{
	bool extra = offset >= shape->table_bytes;
	uint64 end = extra ? GpuShapeBytes(shape) : shape->table_bytes;

	*bytes = Min(*bytes, end - offset);
	return extra ? sk->extra + (offset - shape->table_bytes) : sk->table + offset;
}

void
GpuReadPiece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
			 uint8 *to)
{
	while (bytes > 0)
	{
		uint64 run = bytes;
		const uint8 *from = find_piece(sk, shape, offset, &run);

		memcpy(to, from, run);
		to += run;
		offset += run;
		bytes -= run;
	}
}

void
GpuWritePiece(qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
			  const uint8 *from)
{
	while (bytes > 0)
	{
		uint64 run = bytes;
		uint8 *to = find_piece(sk, shape, offset, &run);

		memcpy(to, from, run);
		from += run;
		offset += run;
		bytes -= run;
	}
}
