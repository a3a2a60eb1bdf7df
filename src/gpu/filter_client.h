/*
 * filter_client.h
 *		A backend's side of the GPU worker: filters there, and calls.
 *
 * The functions here may wait; see client.h.  Functions that send return how much
 * they have given.  GpuFilterDownload() wants the sum, and checks that all arrived.
 *
 * src/gpu/filter_client.h
 */
#ifndef QS_GPU_FILTER_CLIENT_H
#define QS_GPU_FILTER_CLIENT_H

#include "gpu/column_request.h"
#include "gpu/filter_request.h"

#include "engine/filter_engine.h"

/* A filter without bits on this device, or on any (-1); false if there is no memory for it. */
extern bool GpuFilterCreate(const qf_params *params, int device, GpuRef *ref);

/* Send in the background: all bits of a dense filter or the set ones of an explicit filter; rows. */
extern uint64 GpuFilterSendBits(const GpuRef *ref, const qf_filter *f);
extern uint64 GpuFilterSendRows(const GpuRef *ref, const qf_batch *batch);

/*
 * Insert rows of the keys of copies, and take the pages off their sets that were done.
 * Returns how many rows.
 */
extern uint64 GpuFilterSendColumn(const GpuRef *ref, const GpuColumnChunk *chunk, int chunks);

/*
 * Fetch a filter, which was given so much, from the worker into "f", an empty owned
 * filter, which gets dense.
 */
extern qb_status GpuFilterDownload(const GpuRef *ref, uint64 given, qf_filter *f);

#endif
