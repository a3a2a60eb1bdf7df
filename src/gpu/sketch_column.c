/*
 * sketch_column.c
 *		Sketches of backends that get keys of copies of columns.
 *
 * As long as a sketch is explicit, only its backend knows when it has too many distinct
 * keys.  So the worker tells which there are, and the backend adds them.  Then the sketch
 * goes to the device, and the worker adds keys without sending them anywhere.
 *
 * src/gpu/sketch_column.c
 */
#include "gpu/column_client.h"
#include "gpu/sketch_client.h"
#include "gpu/sketch_gpu.h"
#include "gpu/sketch_remote.h"

#include "sketch/explicit.h"

/*
 * Add keys of a copy while the sketch is explicit: the device says which distinct keys
 * there are.  If they are more than the sketch has room for, it goes to the device.
 * "done" is set if the pages are done, as far as they can be here.
 */
static qb_status
add_counts(qs_sketch *sk, const GpuColumnChunk *chunk, int64 *count, GpuKeyCounts *counts, bool *done)
{
	int most = (int) qs_explicit_limit(&sk->params);
	int64 before = sk->total;
	qb_status status;

	*done = !GpuColumnCounts(chunk, most, counts);
	if (*done)
		return QB_OK;
	if (counts->count > most)
	{
		*done = !GpuSketchMoveExplicit(sk, GpuColumnDevice(chunk));
		return QB_OK;
	}
	status = GpuSketchInsert(sk, counts->key, counts->times, counts->count);
	*count += sk->total - before;
	*done = status != QB_OK || GpuPagesAreNone(chunk->pages);
	return status;
}

/* Add keys of these copies while the sketch is explicit; the number of chunks that are done. */
static int
add_explicit(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count, qb_status *status)
{
	GpuKeyCounts *counts = palloc(sizeof(GpuKeyCounts));
	int i = 0;

	*status = QB_OK;
	while (*status == QB_OK && sk->encoding == QS_EXPLICIT && i < chunks)
	{
		bool done;

		*status = add_counts(sk, &chunk[i], count, counts, &done);
		i += done;
	}
	pfree(counts);
	return i;
}

/*
 * While the sketch is explicit, this process gets distinct keys with their counts,
 * because only this process knows when there are too many.  Then the sketch goes to the
 * device, however small it is: the keys are there already.  A sketch that cannot grow there
 * gets no keys: the pages are left to be read.
 */
qb_status
GpuSketchAddColumn(qs_sketch *sk, const GpuColumnChunk *chunk, int chunks, int64 *count)
{
	qb_status status = QB_OK;
	int64 added;
	int done = 0;

	if (sk->remote && GpuSketchCannotGrow(sk))
		return QB_OK;
	if (sk->encoding == QS_EXPLICIT)
		done = add_explicit(sk, chunk, chunks, count, &status);
	if (status != QB_OK || done == chunks || (!sk->remote && !GpuSketchMoveDense(sk)))
		return status;
	added = GpuSketchSendColumn(&GpuRemoteOf(sk)->ref, chunk + done, chunks - done);
	sk->total += added;
	*count += added;
	return QB_OK;
}

void
GpuSketchGetDense(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk, bool *dense)
{
	int most = (int) qs_explicit_limit(&sk[0]->params);

	if (!GpuColumnMany(chunk, groups, most, dense))
		memset(dense, 0, groups->count * sizeof(bool));
	GpuSketchMoveAll(sk, groups->count, GpuColumnDevice(chunk), dense);
}

bool
GpuSketchAddGroups(qs_sketch **sk, const qb_groups *groups, const GpuColumnChunk *chunk, int chunks,
				   uint64 *added)
{
	GpuGroupSketches *all = palloc(sizeof(GpuGroupSketches));
	bool done = true;
	uint32 i;
	int n;

	all->groups = *groups;
	for (i = 0; i < groups->count; i++)
		all->sketch[i] = GpuRemoteOf(sk[i])->ref;
	GpuSketchSendGroups(all, chunk, chunks);
	for (n = 0; n < chunks; n++)
		done = done && GpuPagesAreNone(chunk[n].pages);
	for (i = 0; i < groups->count; i++)
	{
		sk[i]->total += (int64) all->added[i];
		added[i] = all->added[i];
	}
	GpuSketchChain(sk, groups->count);
	pfree(all);
	return done;
}
