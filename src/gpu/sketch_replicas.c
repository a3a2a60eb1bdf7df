/*
 * sketch_replicas.c
 *		Sketches in the GPU worker that get keys of chunks on several devices.
 *
 * A sketch is on one device.  Keys of chunks on another device go into a replica of the
 * sketch there, a sketch of its own with the same parameters.  So keys stay where they
 * are, and each device counts its own.  The replicas are merged into the sketch before
 * anybody reads it or merges it with another one, slice by slice.  Keys that come between
 * two slices go into a new replica.  Without memory for that the backend fetches the replicas.
 *
 * src/gpu/sketch_replicas.c
 */
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/sketch_holding.h"
#include "pgbase/memory.h"

#include "utils/memutils.h"

/* Have a replica on a device. */
static qb_status
make_replica(GpuSketchHolding *h, int device)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	GPU_WITH_ROOM(status, device,
				  GpuSketchOps()->create(gpu_device[device], &h->params, &h->replica[device]));
	if (status != QB_OK)
		return status;
	h->replicas++;
	pg_atomic_fetch_add_u64(&gpu_shared->device[device].values, 1);
	return QB_OK;
}

static void
free_replica(qs_cuda_sketch **replica, int device)
{
	GpuSketchOps()->destroy(*replica);
	*replica = NULL;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[device].values, 1);
	GpuShowMemory(device);
}

static void
drop_joining(GpuSketchHolding *h)
{
	free_replica(&h->joining, h->joining_device);
	h->replicas--;
}

void
GpuSketchDropReplicas(GpuSketchHolding *h)
{
	int device;

	if (h->joining)
		drop_joining(h);
	for (device = 0; device < GPU_DEVICES_MAX && h->replicas > 0; device++)
		if (h->replica[device])
		{
			free_replica(&h->replica[device], device);
			h->replicas--;
		}
}

qb_status
GpuSketchInsertReplica(GpuSketchHolding *h, const GpuGathered *gathered)
{
	qb_status status = QB_OK;

	if (h->replica[gathered->device] == NULL)
		status = make_replica(h, gathered->device);
	if (status == QB_OK)
		status = GpuSketchOps()->insert_device(h->replica[gathered->device], gathered->key, NULL,
											   gathered->count);
	GpuShowMemory(gathered->device);
	return status;
}

/* Take one of the replicas that there are, to be merged. */
static void
take_replica(GpuSketchHolding *h)
{
	int device = 0;

	while (h->replica[device] == NULL)
		device++;
	h->joining = h->replica[device];
	h->joining_device = device;
	h->replica[device] = NULL;
}

qb_status
GpuSketchMergeReplica(GpuSketchHolding *h)
{
	GpuSketchSource replica = { .params = &h->params };
	qb_status status;
	bool more;

	if (h->joining == NULL)
		take_replica(h);
	replica.sketch = h->joining;
	replica.device = h->joining_device;
	status = GpuSketchMerge(h, &replica, &more);
	if (status == QB_OK && !more)
		drop_joining(h);
	return status;
}

void *
GpuSketchPart(const GpuSketchHolding *h, int number)
{
	int device;

	if (h->joining && --number == 0)
		return h->joining;
	for (device = 0; device < GPU_DEVICES_MAX; device++)
		if (h->replica[device] && --number == 0)
			return h->replica[device];
	return NULL;
}

/*
 * ---- merging sketches of devices in the GPU worker, slice by slice ----
 *
 * Between two slices others are served.  A slice of another device needs memory there, and on
 * the one that it goes to.  If there is none the merge ends there, and the backend of the
 * sketch does the rest.
 *
 * After any other error the sketch may have some slices and not others, and is of no use.
 */

const qb_memory *
GpuSketchMemory(void)
{
	static qb_memory memory;

	return ContextMemory(TopMemoryContext, &memory);
}

static qb_status
begin(GpuSketchHolding *h, const GpuSketchSource *from)
{
	int64 total = GpuSketchOps()->total(from->sketch);
	qb_status status;

	GPU_WITH_ROOM(status, h->device,
				  GpuSketchOps()->merge_begin(h->on_device, from->params, total));
	h->merged = (GpuSketchMerged){ .begun = status == QB_OK };
	return status;
}

/* The next slice: of so many bytes, or less at the end. */
static qs_slice
next_slice(const qs_params *p, uint64 at)
{
	uint64 units = qs_slice_units(p);
	uint64 bytes = qs_block_bytes(p) * p->n / units;
	uint64 count = Min(Max(gpu_device_ops->merge_bytes / bytes, 1), units - at);

	return (qs_slice){ at, count };
}

static qb_status
merge_slice(GpuSketchHolding *h, const GpuSketchSource *from, qs_slice units)
{
	qb_status status;

	do
		status = GpuSketchOps()->merge_slice(h->on_device, units, from->sketch, units);
	while (status == QB_NO_MEMORY && (GpuMakeRoom(h->device) || GpuMakeRoom(from->device)));
	return status;
}

qb_status
GpuSketchMerge(GpuSketchHolding *h, const GpuSketchSource *from, bool *more)
{
	qb_status status = h->merged.begun ? QB_OK : begin(h, from);
	qs_slice units;

	if (status != QB_OK)
		return status;
	units = next_slice(&h->params, h->merged.units);
	status = merge_slice(h, from, units);
	if (status != QB_OK)
		return status;
	h->merged.units += units.count;
	*more = h->merged.units < qs_slice_units(&h->params);
	if (!*more)
		h->merged = (GpuSketchMerged){ 0 };
	return QB_OK;
}
