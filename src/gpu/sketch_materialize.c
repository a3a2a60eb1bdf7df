/*
 * sketch_materialize.c
 *		Sketches of backends whose tables are on a device, and come back.
 *
 * "remote" points to a GpuRemote in the sketch's memory context, which drops
 * the device's sketch when the context goes away.
 *
 * Sketches of groups are read one after another.  So they are chained in that order: while
 * one of them comes back, the worker gets the tables of the next one ready, and says what
 * they look like.  More is not brought here ahead: a table is copied into memory that the
 * one before it has left, which takes less time than new memory.
 *
 * src/gpu/sketch_materialize.c
 */
#include "gpu/sketch_client.h"
#include "gpu/sketch_remote.h"

#include "utils/memutils.h"

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
	if (remote->ref.serial != 0 && !remote->in_transfer)
		GpuDropHandle(&remote->ref);
	remote->ref.serial = 0;
}

/* The tables of a sketch are on a device now. */
void
GpuSketchBecomeRemote(qs_sketch *sk, const GpuRef *ref)
{
	MemoryContext context = sk->memory->context;
	GpuRemote *remote = MemoryContextAllocZero(context, sizeof(GpuRemote));

	remote->ref = *ref;
	remote->callback.func = drop_remote;
	remote->callback.arg = remote;
	MemoryContextRegisterResetCallback(context, &remote->callback);
	GpuAttachHandle(ref);
	qs_free(sk);
	sk->encoding = QS_DENSE;
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

/* An error if a total that came from the worker is not that of the keys that were sent. */
static void
check_total(const qs_sketch *sk, int64 total)
{
	if (total != sk->total)
		elog(ERROR, "sketch on the GPU has total " INT64_FORMAT ", not " INT64_FORMAT, total,
			 (int64) sk->total);
}

/* Is what the worker has told of the tables still true?  Each key changes the total. */
static bool
is_described(const GpuRemote *remote, const qs_sketch *sk)
{
	return remote->described && remote->shape.total == sk->total;
}

/* Bring the tables of a remote sketch here; the worker gets the next one of the chain ready. */
static qb_status
download(const qs_sketch *sk, qs_sketch *here)
{
	GpuRemote *remote = GpuRemoteOf(sk);
	GpuRemote *next = remote->next && !remote->next->in_transfer ? remote->next : NULL;
	GpuSketchAhead from = { .ref = remote->ref, .known = is_described(remote, sk) };
	GpuSketchAhead ahead;
	qb_status status;

	from.shape = remote->shape;
	if (next)
		ahead.ref = next->ref;
	status = GpuSketchDownload(&from, next ? &ahead : NULL, here);
	if (status == QB_OK && next)
	{
		next->described = ahead.known;
		next->shape = ahead.shape;
	}
	return status;
}

qb_status
GpuSketchMaterialize(qs_sketch *sk)
{
	qs_sketch here;
	qb_status status;

	if (sk->remote == NULL)
		return QB_OK;
	if (GpuRemoteOf(sk)->merging)
		elog(ERROR, "a merge of the sketch on the GPU was broken off");
	qs_init(&here, &sk->params, sk->memory);
	here.keys = sk->keys;
	status = download(sk, &here);
	if (status != QB_OK)
		return status;
	check_total(sk, here.total);
	drop_remote(sk->remote);
	*sk = here;
	return QB_OK;
}
