/*
 * handles.h
 *		What the files of the table of values share: its lock, and whose a handle is.
 *
 *	handles.c			handles of transactions, from their making to their end
 *	handles_cached.c	cached values and chunks of columns, which belong to nobody
 *
 * src/gpu/handles.h
 */
#ifndef QS_GPU_HANDLES_H
#define QS_GPU_HANDLES_H

#include "gpu/shared.h"

#include "miscadmin.h"

#define GPU_HANDLE(ref) (&gpu_shared->handle[(ref)->index])

static inline void
GpuLockHandles(LWLockMode mode)
{
	LWLockAcquire(gpu_shared->handles, mode);
}

static inline void
GpuUnlockHandles(void)
{
	LWLockRelease(gpu_shared->handles);
}

static inline int
GpuOwnNumber(void)
{
	return ProcessNumber(MyProc);
}

/* ---- functions whose caller holds the lock ---- */

static inline bool
GpuIsOwned(const GpuHandle *handle)
{
	return handle->state == HANDLE_LIVE || handle->state == HANDLE_LOST;
}

static inline bool
GpuIsMine(const GpuHandle *handle)
{
	return GpuIsOwned(handle) && handle->proc == GpuOwnNumber();
}

static inline bool
GpuIsNamed(const GpuHandle *handle, const GpuRef *ref)
{
	return handle->state != HANDLE_UNUSED && handle->serial == ref->serial;
}

static inline void
GpuDisown(GpuHandle *handle)
{
	pg_atomic_fetch_sub_u32(&gpu_shared->owned[handle->proc], 1);
	handle->in_transfer = false;
	memset(&handle->token, 0, sizeof(handle->token));
}

/* ---- the caller does not ---- */

/* The worker has something to do besides requests. */
static inline void
GpuWakeForPending(void)
{
	if (pg_atomic_read_u32(&gpu_shared->pending_frees) > 0 && GpuStateNow() == GPU_READY)
		SetLatch(gpu_shared->worker_latch);
}

#endif
