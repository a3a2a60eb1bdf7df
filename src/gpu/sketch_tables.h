/*
 * sketch_tables.h
 *		The tables of a sketch on their way through slots, piece by piece.
 *
 * src/gpu/sketch_tables.h
 */
#ifndef QS_GPU_TABLES_H
#define QS_GPU_TABLES_H

#include "gpu/sketch_request.h"

/* Describe a dense sketch, owned or a view. */
extern void GpuShapeOf(GpuSketchShape *shape, const qs_sketch *sk);

/* Bytes of all tables. */
static inline uint64
GpuShapeBytes(const GpuSketchShape *shape)
{
	return shape->table_bytes + shape->extra_bytes;
}

/* Make an empty owned sketch dense, with tables to be written. */
extern qb_status GpuSketchMakeTables(qs_sketch *sk, const GpuSketchShape *shape);

/* Copy a piece out of the tables, or into them. */
extern void GpuReadPiece(const qs_sketch *sk, const GpuSketchShape *shape, uint64 offset,
						 uint64 bytes, uint8 *to);
extern void GpuWritePiece(qs_sketch *sk, const GpuSketchShape *shape, uint64 offset, uint64 bytes,
						  const uint8 *from);

#endif
