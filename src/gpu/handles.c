/*
 * handles.c
 *		The table of values in the worker's hands: who owns which.
 *
 * See shared.h for the states.  Backends find their own handles by scanning
 * the table, which they do only if they have some: "owned" counts them.
 *
 * src/gpu/handles.c
 */
#include "gpu/handles.h"

#include "access/xact.h"

/* The owner does not need a handle any more. */
static void
free_later(GpuHandle *handle)
{
	GpuDisown(handle);
	handle->state = HANDLE_PENDING_FREE;
	pg_atomic_fetch_add_u32(&gpu_shared->pending_frees, 1);
}

/* An unused handle, if this process may take one more. */
static GpuHandle *
find_unused(Oid role)
{
	GpuHandle *unused = NULL;
	int free = 0;
	int roles = 0;
	int i;

	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		roles += GpuIsOwned(handle) && handle->role == role;
		if (handle->state != HANDLE_UNUSED || pg_atomic_read_u32(&handle->pending) > 0)
			continue;
		free++;
		unused = handle;
	}
	return GpuMayTake(free, GPU_HANDLES, pg_atomic_read_u32(&gpu_shared->owned[GpuOwnNumber()]),
					  roles)
			   ? unused
			   : NULL;
}

static void
own(GpuHandle *handle, GpuFamily family, Oid role)
{
	handle->family = family;
	handle->serial = ++gpu_shared->last_serial;
	handle->state = HANDLE_LIVE;
	handle->proc = GpuOwnNumber();
	handle->pid = MyProcPid;
	handle->role = role;
	handle->subid = GetCurrentSubTransactionId();
	handle->attached = handle->in_transfer = handle->full = false;
	handle->bytes = 0;
	handle->pages = 0;
	handle->device = -1;
	pg_atomic_fetch_add_u32(&gpu_shared->owned[handle->proc], 1);
}

/* ---- functions that take the lock themselves ---- */

/* A handle of this transaction, or false if there is none for this process. */
bool
GpuNewHandle(GpuFamily family, GpuRef *ref)
{
	Oid role = GetAuthenticatedUserId();
	GpuHandle *handle;

	GpuLockHandles(LW_EXCLUSIVE);
	handle = find_unused(role);
	if (handle)
	{
		own(handle, family, role);
		ref->family = family;
		ref->serial = handle->serial;
		ref->index = (int) (handle - gpu_shared->handle);
	}
	GpuUnlockHandles();
	return handle != NULL;
}

/* Drop a handle if it is still this backend's. */
void
GpuDropHandle(const GpuRef *ref)
{
	GpuLockHandles(LW_EXCLUSIVE);
	if (GpuIsNamed(GPU_HANDLE(ref), ref) && GpuIsMine(GPU_HANDLE(ref)))
		free_later(GPU_HANDLE(ref));
	GpuUnlockHandles();
	GpuWakeForPending();
}

/* From now on the owner's memory has a handle, and drops it when it goes away itself. */
void
GpuAttachHandle(const GpuRef *ref)
{
	GpuLockHandles(LW_EXCLUSIVE);
	if (GpuIsNamed(GPU_HANDLE(ref), ref) && GpuIsMine(GPU_HANDLE(ref)))
		GPU_HANDLE(ref)->attached = true;
	GpuUnlockHandles();
}

static void
give_to(GpuHandle *handle, const PGPROC *proc)
{
	GpuDisown(handle);
	handle->proc = ProcessNumber(proc);
	handle->pid = proc->pid;
	handle->attached = false;
	pg_atomic_fetch_add_u32(&gpu_shared->owned[handle->proc], 1);
}

/* The process that combines the partial states of this one. */
static const PGPROC *
combiner(void)
{
	return MyProc->lockGroupLeader ? MyProc->lockGroupLeader : MyProc;
}

/* Give a handle to whoever redeems its token; until then to the leader, who outlives workers. */
void
GpuTransferHandle(const GpuRef *ref, const TokenNumber *token, const GpuShape *shape)
{
	GpuHandle *handle = GPU_HANDLE(ref);

	GpuLockHandles(LW_EXCLUSIVE);
	if (GpuIsNamed(handle, ref) && GpuIsMine(handle))
	{
		if (combiner() != MyProc)
			handle->subid = InvalidSubTransactionId;
		give_to(handle, combiner());
		handle->in_transfer = true;
		handle->token = *token;
		handle->shape = *shape;
	}
	GpuUnlockHandles();
}

/* Was a handle transferred to this backend, or by this parallel worker to its leader? */
static bool
is_in_transfer(const GpuHandle *handle)
{
	return GpuIsOwned(handle) && handle->in_transfer && handle->proc == ProcessNumber(combiner());
}

/*
 * Take a handle of this name that was transferred: to the leader, or by the parallel worker
 * itself.  False if there is none.
 */
bool
GpuReceiveHandle(GpuFamily family, const TokenNumber *token, GpuRef *ref, GpuShape *shape)
{
	bool found = false;
	int i;

	GpuLockHandles(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES && !found; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		if (!is_in_transfer(handle) || handle->family != family ||
			memcmp(&handle->token, token, sizeof(*token)) != 0)
			continue;
		found = true;
		ref->serial = handle->serial;
		ref->index = i;
		ref->family = family;
		*shape = handle->shape;
		give_to(handle, MyProc);
		handle->subid = GetCurrentSubTransactionId();
	}
	GpuUnlockHandles();
	return found;
}

static bool
owns_none(void)
{
	return gpu_shared == NULL || MyProc == NULL || GpuOwnNumber() >= gpu_shared->proc_count ||
		   pg_atomic_read_u32(&gpu_shared->owned[GpuOwnNumber()]) == 0;
}

/* Drop all handles of this backend. */
void
GpuDropAllHandles(void)
{
	int i;

	if (owns_none())
		return;
	GpuLockHandles(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES; i++)
		if (GpuIsMine(&gpu_shared->handle[i]))
			free_later(&gpu_shared->handle[i]);
	GpuUnlockHandles();
	GpuWakeForPending();
}

/*
 * A subtransaction is rolled back: drop its handles that no memory has, and handles
 * in transfer that nobody has received.  Parallel queries start no subtransactions, so handles
 * in transfer came from a query inside this one.
 *
 * Handles that memory has go with it.  It may belong to a cursor that is older than the
 * subtransaction and was first read in it.  So these handles become the parent's.
 */
void
GpuDropSubHandles(SubTransactionId subid, SubTransactionId parent)
{
	int i;

	if (owns_none())
		return;
	GpuLockHandles(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		if (!GpuIsMine(handle) ||
			(handle->subid != subid && handle->subid != InvalidSubTransactionId))
			continue;
		if (handle->attached)
			handle->subid = parent;
		else
			free_later(handle);
	}
	GpuUnlockHandles();
	GpuWakeForPending();
}

/* A subtransaction became part of its parent. */
void
GpuRaiseSubHandles(SubTransactionId from, SubTransactionId to)
{
	int i;

	if (owns_none())
		return;
	GpuLockHandles(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES; i++)
		if (GpuIsMine(&gpu_shared->handle[i]) && gpu_shared->handle[i].subid == from)
			gpu_shared->handle[i].subid = to;
	GpuUnlockHandles();
}

/* For the worker: handles pending free that no request names, but for those on busy devices. */
int
GpuTakePending(int *index, int room, uint32 busy)
{
	int count = 0;
	int i;

	GpuLockHandles(LW_SHARED);
	for (i = 0; i < GPU_HANDLES && count < room; i++)
		if (gpu_shared->handle[i].state == HANDLE_PENDING_FREE &&
			!(gpu_shared->handle[i].device >= 0 && (busy >> gpu_shared->handle[i].device & 1)) &&
			pg_atomic_read_u32(&gpu_shared->handle[i].pending) == 0)
			index[count++] = i;
	GpuUnlockHandles();
	return count;
}

/* For the worker: the value of a handle pending free is freed. */
void
GpuHandleFreed(int index)
{
	GpuLockHandles(LW_EXCLUSIVE);
	Assert(gpu_shared->handle[index].state == HANDLE_PENDING_FREE);
	gpu_shared->handle[index].state = HANDLE_UNUSED;
	gpu_shared->handle[index].bytes = 0;
	pg_atomic_fetch_sub_u32(&gpu_shared->pending_frees, 1);
	GpuUnlockHandles();
}

/* For the worker: keys on their way to a value are lost; was it live? */
bool
GpuLoseHandle(const GpuRef *ref)
{
	bool live;

	GpuLockHandles(LW_EXCLUSIVE);
	live = GpuIsNamed(GPU_HANDLE(ref), ref) && GPU_HANDLE(ref)->state == HANDLE_LIVE;
	if (live)
		GPU_HANDLE(ref)->state = HANDLE_LOST;
	GpuUnlockHandles();
	return live;
}

/* For the worker: all values are gone. */
void
GpuResetHandles(void)
{
	int i;

	GpuLockHandles(LW_EXCLUSIVE);
	for (i = 0; i < GPU_HANDLES; i++)
	{
		GpuHandle *handle = &gpu_shared->handle[i];

		handle->bytes = 0;
		if (handle->state == HANDLE_LIVE)
			handle->state = HANDLE_LOST;
		else if (handle->state != HANDLE_LOST)
			handle->state = HANDLE_UNUSED;
	}
	pg_atomic_write_u32(&gpu_shared->pending_frees, 0);
	memset(gpu_shared->pushed_out, 0, sizeof(gpu_shared->pushed_out));
	for (i = 0; i < lengthof(gpu_shared->copies); i++)
	{
		pg_atomic_write_u32(&gpu_shared->copies[i].count, 0);
		pg_atomic_write_u64(&gpu_shared->copies[i].bytes, 0);
	}
	GpuUnlockHandles();
}
