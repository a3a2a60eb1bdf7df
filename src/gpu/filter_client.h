/*
 * filter_client.h
 *		A backend's side of the GPU worker: filters there, and calls.
 *
 * All of these wait where they must; see client.h.  Functions that send return
 * how much they have given, of which GpuFilterDownload() wants the sum.
 *
 * src/gpu/filter_client.h
 */
#ifndef QS_GPU_FILTER_CLIENT_H
#define QS_GPU_FILTER_CLIENT_H

#include "gpu/filter_request.h"

#include "engine/filter_engine.h"

/* A filter without bits on a device; false if there is no memory for it. */
extern bool GpuFilterCreate(const qf_params *params, GpuRef *ref);

/* In the background: all bits of a dense filter, or those of an explicit one; rows. */
extern uint64 GpuFilterSendBits(const GpuRef *ref, const qf_filter *f);
extern uint64 GpuFilterSendRows(const GpuRef *ref, const qf_batch *batch);

/*
 * Make "f", an empty owned filter, a dense one with the bits of the one in the
 * worker's hands, which was given so much.
 */
extern qb_status GpuFilterDownload(const GpuRef *ref, uint64 given, qf_filter *f);

#endif
