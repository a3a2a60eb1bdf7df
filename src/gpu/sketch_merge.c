/*
 * sketch_merge.c
 *		Merging sketches of devices in the GPU worker, slice by slice.
 *
 * Slices of two sketches of one device are added there.  Others come through the worker's
 * memory, which has one slice at a time.  Between two slices others have their turns.  A slice
 * needs memory of the device that it is taken from, and of the one that it goes to.  If there
 * is none the merge ends there, and the backend of the sketch does the rest.
 *
 * After any other error the sketch may have some slices and not others, and is of no use.
 *
 * src/gpu/sketch_merge.c
 */
#include "gpu/sketch_holding.h"

#include "pgbase/memory.h"
#include "utils/memutils.h"

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

/* Take a slice to the worker's memory. */
static qb_status
take(const GpuSketchSource *from, qs_slice units, qs_sketch *slice)
{
	qb_status status;

	do
		status = GpuSketchOps()->take_slice(from->sketch, units, slice, GpuSketchMemory());
	while (status == QB_NO_MEMORY && GpuMakeRoom(from->device));
	return status;
}

/* Add a slice that was taken. */
static qb_status
add(const GpuSketchHolding *h, qs_slice to, const qs_sketch *slice)
{
	qs_slice all = { 0, qs_slice_units(&slice->params) };
	qs_cuda_sketch *loaded;
	qb_status status;

	GPU_WITH_ROOM(status, h->device, GpuSketchOps()->load(gpu_device[h->device], slice, &loaded));
	if (status != QB_OK)
		return status;
	status = GpuSketchOps()->merge_slice(h->on_device, to, loaded, all);
	GpuSketchOps()->destroy(loaded);
	return status;
}

static qb_status
merge_slice(const GpuSketchHolding *h, const GpuSketchSource *from, qs_slice units)
{
	qs_sketch slice;
	qb_status status;

	if (from->device == h->device)
		return GpuSketchOps()->merge_slice(h->on_device, units, from->sketch, units);
	status = take(from, units, &slice);
	if (status != QB_OK)
		return status;
	status = add(h, units, &slice);
	qs_free(&slice);
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
