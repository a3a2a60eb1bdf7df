/*
 * sketch_gpu.h
 *		The GPU as functions on sketches see it: an engine, lookups, tickets.
 *
 * src/gpu/sketch_gpu.h
 */
#ifndef QS_GPU_SKETCH_GPU_H
#define QS_GPU_SKETCH_GPU_H

#include "gpu/gpu.h"
#include "gpu/sketch_request.h"

#include "engine/sketch_engine.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* Are sketches of these parameters large enough for the GPU to pay? */
extern bool GpuSketchIsLarge(const qs_params *p);

/* Why do sketches of these parameters not go to a GPU, however many keys they get?  NULL: they do. */
extern const char *GpuSketchReason(const qs_params *p);

/* The engine for new sketches, as qsketch.device wants it. */
extern const qs_engine *GpuSketchEngine(void);

/* The engine of a sketch that is on a device, or not. */
extern const qs_engine *GpuSketchEngineOf(const qs_sketch *sk);

/* A partial state on a device, passed to the combine function as a varlena. */
extern Size GpuTicketSize(void);
extern void GpuWriteTicket(const qs_sketch *sk, struct varlena *out);
extern bool GpuIsTicket(Datum datum);
extern void GpuOpenTicket(Datum datum, qs_sketch *sk, const qb_memory *memory);

/* The number of the GPU that a sketch is on, or -1. */
extern int GpuOfSketch(const qs_sketch *sk);

/* Lookups of batches in stored sketches. */
extern bool GpuSketchWantsLookup(const qs_sketch *sk, size_t count);
extern void
GpuSketchNameStored(const struct varatt_external *toast, const uint8 *header, StoredName *key);
extern void GpuSketchNameBytes(const uint8 *bytes, Size length, StoredName *key);
extern bool GpuSketchLookupCached(const StoredName *key, const uint64 *fingerprint, size_t count,
								  int64 *estimate);
extern bool GpuSketchLookupLoaded(const qs_sketch *sk, const StoredName *key,
								  const uint64 *fingerprint, size_t count, int64 *estimate);

#endif
