/*
 * sets_client.h
 *		A backend's side of the GPU worker, for sets: collections there
 *		(sets_upload.c), with a search in them on a device (sets_part.c), and on
 *		all devices (sets_client.c).
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
typedef struct GpuSketchUpload
{
	const qset_collection *collection;
	const uint32 *number;
	uint64 universe;
	bool ids;   /* with its ids, for who finds it kept */
	bool index; /* it has columns */
} GpuSketchUpload;

/* "index_ms" is added what its index took. */
extern bool GpuSetsUpload(const GpuSketchUpload *upload, int device, GpuRef *ref, double *index_ms);

/* A copy on another device of one that is there. */
extern bool GpuSetsCopy(const GpuRef *from, int device, GpuRef *ref);

/* The copy of this name that is kept on a device; and to keep one. */
extern bool GpuSetsFind(const StoredName *name, int device, GpuRef *ref);
extern void GpuSetsKeep(const StoredName *name, int device, const GpuRef *ref);

/* Sizes and ids of a kept one, into memory of the current context; false: it is gone. */
extern bool GpuSetsDescribe(const GpuRef *ref, GpuKept *kept);

/* ---- sets_part.c ---- */

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
