/*
 * sketch_value.h
 *		Reading and writing sketches as values of PostgreSQL.
 *
 * A qsketch value is a varlena.  Its data are in the byte format of sketch/format.h.  Functions
 * read a value through a SketchReader, and change the value as an expanded object.  sketch_state.h
 * declares the reader and the expanded object.
 *
 * src/pg/sketch_value.h
 */
#ifndef QS_PG_SKETCH_VALUE_H
#define QS_PG_SKETCH_VALUE_H

#include "postgres.h"
#include "fmgr.h"

#include "sketch/format.h"
#include "pgbase/value.h"
#include "pgbase/keyfamily.h"
#include "pgbase/memory.h"
#include "pgbase/version.h"
#include "sketch/sketch.h"
#include "engine/sketch_engine.h"

/* The default structure of qsketch_new() and of aggregates without a template. */
#define SKETCH_DEFAULT_STRUCTURE QS_MULTILEVEL

extern void SketchOpen(qs_sketch *view, struct varlena *value);
extern bool SketchOpenStored(qs_sketch *view, Datum datum);
extern void SketchCheckStorable(const qs_params *params);
extern struct varlena *SketchFlatten(const qs_sketch *sketch);
extern Size SketchFlatSize(const qs_sketch *sketch, const uint64 *presence, qs_flat *flat);
extern Size SketchTablesSize(const qs_sketch *sketch, qs_flat *flat);
extern void SketchWrite(const qs_sketch *sketch, const qs_flat *flat, struct varlena *out);

extern const ValueFormat sketch_format;
extern const KeyHolder sketch_key_holder;
extern void SketchCheck(qb_status status);
extern void SketchCheckRemoved(qb_status status);
extern void SketchBadWeight(int64 weight) __attribute__((noreturn));
extern void SketchCheckParams(const qs_params *a, const qs_params *b);
extern void SketchCheckMergeable(const qs_sketch *a, const qs_sketch *b);
extern void SketchCheckProduct(const qs_sketch *a, const qs_sketch *b);
extern const char *SketchSizeText(const qs_params *params);

extern void SketchDefaultParams(qs_params *params);
extern int SketchStructureFromText(text *name);
extern void SketchParamsOf(qs_params *params, int structure, uint64 size);
extern uint64 SketchFoldedN(const qs_params *params, text *size);

/* Return the weight.  Raise an error if its negative is no bigint. */
static inline int64
SketchCheckWeight(int64 weight)
{
	if (unlikely(weight == PG_INT64_MIN))
		SketchBadWeight(weight);
	return weight;
}

#endif
