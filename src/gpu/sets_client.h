/*
 * sets_client.h
 *		A backend's side of the GPU worker, for sets: collections there
 *		(sets_upload.c), and searches in them (sets_client.c).
 *
 * What fails for lack of memory there is false, and nothing is left behind but
 * the entry, which the caller drops.
 *
 * src/gpu/sets_client.h
 */
#ifndef QS_GPU_SETS_CLIENT_H
#define QS_GPU_SETS_CLIENT_H

#include "gpu/sets_gpu.h"
#include "gpu/sets_request.h"

/* What a collection is there: the numbers of its elements (NULL: their ranks), and of how many. */
typedef struct GpuUpload
{
	const qi_collection *collection;
	const uint32 *number;
	uint64 universe;
	bool ids;   /* with its ids, for who finds it kept */
	bool index; /* it has columns */
} GpuUpload;

extern bool GpuSetsUpload(const GpuUpload *upload, int device, GpuRef *ref);

/* A copy on another device of one that is there. */
extern bool GpuSetsCopy(const GpuRef *from, int device, GpuRef *ref);

/* The copy of this name that is kept on a device; and to keep one. */
extern bool GpuSetsFind(const GpuKey *name, int device, GpuRef *ref);
extern void GpuSetsKeep(const GpuKey *name, int device, const GpuRef *ref);

/* Sizes and ids of a kept one, into memory of the current context; false: it is gone. */
extern bool GpuSetsDescribe(const GpuRef *ref, GpuKept *kept);

#endif
