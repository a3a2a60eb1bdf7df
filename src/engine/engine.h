/*
 * engine.h
 *		Backends that work on sketches in batches, behind one table.
 *
 * The layers above never ask which backend they have: they call through a
 * qs_engine.  Every engine gives byte-identical sketches.  An engine works on
 * a qs_sketch in place; keys come as fingerprints, in batches of any size.
 *
 * src/engine/engine.h
 */
#ifndef QS_ENGINE_H
#define QS_ENGINE_H

#include "core/sketch.h"

typedef struct qs_engine
{
	const char *name;

	/*
	 * Add keys; weight NULL means 1 each, otherwise weights are >= 0.
	 * QS_TOTAL_OVERFLOW and QS_READ_ONLY leave the sketch unchanged.
	 */
	qs_status (*insert)(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
						size_t count);

	/* Remove keys likewise; QS_UNDERFLOW leaves the sketch unchanged. */
	qs_status (*remove)(qs_sketch *sk, const uint64_t *fingerprint, const int64_t *weight,
						size_t count);

	/* Estimate each key; works on views. */
	void (*query)(const qs_sketch *sk, const uint64_t *fingerprint, size_t count,
				  int64_t *estimate);
} qs_engine;

/* The engine that is always there. */
extern const qs_engine qs_engine_cpu;

#endif
