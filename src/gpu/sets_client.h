/*
 * sets_client.h
 *		A backend's side of the GPU worker, for sets: collections on one device
 *		and a search in them (sets_upload.c), which sets_client.c spreads over all
 *		devices.
 *
 * Functions that find no memory on a device return false.  They leave only handles
 * behind, which the caller drops.
 *
 * src/gpu/sets_client.h
 */
#ifndef QS_GPU_SETS_CLIENT_H
#define QS_GPU_SETS_CLIENT_H

#include "gpu/sets_gpu.h"
#include "gpu/sets_request.h"

/* Find the collection of this name that a device keeps; keep a collection under a name. */
extern bool GpuSetsFind(const StoredName *name, int device, GpuRef *ref);
extern void GpuSetsKeep(const StoredName *name, int device, const GpuRef *ref);

/* Fetch the sizes and ids of a kept collection into the current context; false: it is gone. */
extern bool GpuSetsDescribe(const GpuRef *ref, GpuKept *kept);

/* What is on a device. */
typedef struct GpuReplica
{
	int device;
	GpuRef rows;
	GpuRef columns; /* serial 0: within one collection */
	GpuRef search;
} GpuReplica;

/* Take the collections of a request to a device; "index_ms" grows by what indexing took. */
extern bool
GpuReplicaPlace(GpuReplica *replica, const qset_request *request, bool ids, double *index_ms);

/* The same with a collection of the sorted rows of a handle, on their device. */
extern bool GpuReplicaMake(GpuReplica *replica, const GpuRef *memberships, double *index_ms);

/*
 * Copy the collections of another replica to this replica's device.  A
 * collection of this name that is already there is used instead; "name" may be
 * NULL.
 */
extern bool GpuReplicaCopy(GpuReplica *replica, const GpuReplica *from, const StoredName *name);

/* Prepare a search in them. */
extern bool GpuReplicaSearch(GpuReplica *replica, const qset_request *request, GpuSetsReply *reply);

extern void GpuReplicaDrop(GpuReplica *replica);

#endif
