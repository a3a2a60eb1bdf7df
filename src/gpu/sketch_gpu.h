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
extern bool GpuIsLarge(const qs_params *p);

/* Why do sketches of these parameters not go to a GPU, however many keys they get?  NULL: they do. */
extern const char *GpuSketchReason(const qs_params *p);

/* The engine for new sketches, as qsketch.device wants it. */
extern const qs_engine *GpuChooseEngine(void);

/* The engine of a sketch that is on a device, or not. */
extern const qs_engine *GpuEngineOf(const qs_sketch *sk);

/* A partial state on a device, passed to the combine function as a varlena. */
extern Size GpuTicketSize(void);
extern void GpuWriteTicket(const qs_sketch *sk, struct varlena *out);
extern bool GpuIsTicket(Datum datum);
extern void GpuOpenTicket(Datum datum, qs_sketch *sk, const qs_memory *memory);

/* The number of the GPU that a sketch is on, or -1. */
extern int GpuOfSketch(const qs_sketch *sk);

/* Lookups of batches in stored sketches. */
extern bool GpuWantsLookup(const qs_sketch *sk, size_t count);
extern void GpuKeyOfStored(const struct varatt_external *toast, const uint8 *header, GpuKey *key);
extern void GpuKeyOfBytes(const uint8 *bytes, Size length, GpuKey *key);
extern bool
GpuLookupCached(const GpuKey *key, const uint64 *fingerprint, size_t count, int64 *estimate);
extern bool GpuLookupLoaded(const qs_sketch *sk, const GpuKey *key, const uint64 *fingerprint,
							size_t count, int64 *estimate);

#endif
