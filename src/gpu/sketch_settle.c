/*
 * sketch_settle.c
 *		Sketches of backends whose tables are on a device, and come back.
 *
 * "remote" points to a GpuRemote in the sketch's memory context, which drops
 * the device's sketch when the context goes away.
 *
 * Sketches of groups are read one after another.  So they are chained in that order, and
 * with one that is read some of the next ones come back: the worker gets their tables ready
 * while this process copies others.  The first comes with one more, and each time with more
 * of them, up to AHEAD_MAX and AHEAD_BYTES of tables.  So little is brought here in vain, if
 * not all of them are read, and memory that nobody has asked for is bounded.
 *
 * src/gpu/sketch_settle.c
 */
#include "gpu/sketch_client.h"
#include "gpu/sketch_remote.h"
#include "gpu/wait.h"

#include "utils/memutils.h"

/* The most sketches that come back before they are read, and bytes of their tables. */
#define AHEAD_MAX   7
#define AHEAD_BYTES (8 * 1024 * 1024)

static void
unchain(GpuRemote *remote)
{
	if (remote->before)
		remote->before->next = remote->next;
	if (remote->next)
		remote->next->before = remote->before;
	remote->before = remote->next = NULL;
}

static void
drop_remote(void *argument)
{
	GpuRemote *remote = argument;

	unchain(remote);
	if (remote->ref.serial != 0 && !remote->handed)
		GpuDropEntry(&remote->ref);
	remote->ref.serial = 0;
}

/* The tables of a sketch are on a device now. */
void
GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref)
{
	MemoryContext context = sk->memory->context;
	GpuRemote *remote = MemoryContextAllocZero(context, sizeof(GpuRemote));

	remote->ref = *ref;
	remote->sketch = sk;
	remote->ahead = 1;
	remote->callback.func = drop_remote;
	remote->callback.arg = remote;
	MemoryContextRegisterResetCallback(context, &remote->callback);
	qs_free(sk);
	sk->form = QS_DENSE;
	sk->remote = remote;
}

void
GpuSketchChain(qs_sketch **sk, uint32 count)
{
	GpuRemote *last = NULL;
	uint32 i;

	for (i = 0; i < count; i++)
	{
		GpuRemote *remote = GpuRemoteOf(sk[i]);

		if (remote == NULL)
			continue;
		unchain(remote);
		remote->before = last;
		if (last)
			last->next = remote;
		last = remote;
	}
}

void
GpuSketchCheckTotal(const qs_sketch *sk, int64 total)
{
	if (total != sk->total)
		elog(ERROR, "sketch on the GPU has total " INT64_FORMAT ", not " INT64_FORMAT, total,
			 (int64) sk->total);
}

/* Room for a sketch's tables when they come. */
static void
begin_return(GpuReturning *returning, qs_sketch *here, const GpuRemote *remote)
{
	const qs_sketch *sk = remote->sketch;

	qs_init(here, &sk->params, sk->memory);
	here->keys = sk->keys;
	*returning = (GpuReturning){ .ref = remote->ref, .sk = here };
}

/* The tables have come, or not. */
static qb_status
end_return(const GpuReturning *returning, GpuRemote *remote)
{
	qs_sketch *sk = remote->sketch;

	if (returning->status != QB_OK)
	{
		qs_free(returning->sk);
		return returning->status;
	}
	GpuSketchCheckTotal(sk, returning->sk->total);
	drop_remote(remote);
	*sk = *returning->sk;
	return QB_OK;
}

/* Which sketches come back with this one?  Returns their number, with this one. */
static int
choose_together(GpuRemote *first, GpuRemote **together)
{
	uint64 bytes = 0;
	GpuRemote *remote = first->next;
	int count = 0;

	together[count++] = first;
	for (; remote && count <= first->ahead && !remote->handed; remote = remote->next)
	{
		const qs_sketch *sk = remote->sketch;

		bytes += sk->ops->table_bytes(&sk->params, sk->total >= QS_WIDE_TOTAL);
		if (bytes > AHEAD_BYTES)
			break;
		together[count++] = remote;
	}
	if (remote)
		remote->ahead = Min(2 * first->ahead + 1, AHEAD_MAX);
	return count;
}

/* Sketches that cannot come back for now stay where they are, but for the one that is read. */
qb_status
GpuSketchSettle(qs_sketch *sk)
{
	GpuRemote *together[1 + AHEAD_MAX];
	GpuReturning returning[1 + AHEAD_MAX];
	qs_sketch here[1 + AHEAD_MAX];
	qb_status status;
	int count;
	int i;

	if (sk->remote == NULL)
		return QB_OK;
	count = choose_together(sk->remote, together);
	for (i = 0; i < count; i++)
		begin_return(&returning[i], &here[i], together[i]);
	GpuSketchDownloadAll(returning, count);
	if (returning[0].gone)
		GpuRaiseLost();
	status = end_return(&returning[0], together[0]);
	for (i = 1; i < count; i++)
		(void) end_return(&returning[i], together[i]);
	return status;
}
