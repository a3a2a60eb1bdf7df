/*
 * sets_client.h
 *		A backend's side of the GPU worker, for sets: collections on one device
 *		and a search in them (sets_upload.c), which sets_client.c spreads over all
 *		devices.
 *
 * Functions that find no memory on a device return false.  They leave only entries
 * behind, which the caller drops.
 *
 * src/gpu/sets_client.h
 */
#ifndef QS_GPU_SETS_CLIENT_H
#define QS_GPU_SETS_CLIENT_H

#include "gpu/sets_gpu.h"
#include "gpu/sets_request.h"

/* The copy of this name that is kept on a device; and to keep one. */
extern bool GpuSetsFind(const StoredName *name, int device, GpuRef *ref);
extern void GpuSetsKeep(const StoredName *name, int device, const GpuRef *ref);

/* Sizes and ids of a kept one, into memory of the current context; false: it is gone. */
extern bool GpuSetsDescribe(const GpuRef *ref, GpuKept *kept);

/* What is on a device. */
typedef struct GpuPart
{
	int device;
	GpuRef rows;
	GpuRef columns; /* serial 0: within one collection */
	GpuRef search;
} GpuPart;

/* The collections of a request to a device. */
extern bool GpuPartPlace(GpuPart *part, const qset_request *request, bool ids, double *index_ms);

/* Those of another part to the part's device, if none of this name (or NULL) is there. */
extern bool GpuPartCopy(GpuPart *part, const GpuPart *from, const StoredName *name);

/* A search in them, prepared. */
extern bool GpuPartSearch(GpuPart *part, const qset_request *request, GpuSetsReply *reply);

extern void GpuPartDrop(GpuPart *part);

#endif
