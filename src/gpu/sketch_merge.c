/*
 * sketch_merge.c
 *		Merging sketches in the GPU worker, slice by slice, wherever they are.
 *
 * Both sketches may be on a device, or in the worker's memory.  Slices of two sketches of
 * one device are added there.  All others come through the worker's memory, which has one
 * slice at a time.  Between two slices others have their turns.  Either sketch may come to
 * the worker's memory meanwhile, to make room on its device: slices are numbered by place,
 * and have the same counters there.  A slice needs memory of the device that it is taken
 * from.  If nothing else can be moved from there, the sketch itself is.
 *
 * After any error the sketch may have some slices and not others, and is of no use.
 *
 * src/gpu/sketch_merge.c
 */
#include "gpu/sketch_holding.h"

static const qs_params *
source_params(const GpuSketchSource *from)
{
	return *from->on_device ? from->params : &(*from->on_host)->params;
}

static int64
source_total(const GpuSketchSource *from)
{
	return *from->on_device ? GpuSketchOps()->total(*from->on_device) : (*from->on_host)->total;
}

/* Get ready: the sketch comes to the worker's memory if its device has no memory for that. */
static qb_status
begin(int index, const GpuSketchSource *from)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qb_status status = QB_NO_MEMORY;

	if (h->on_device)
	{
		GPU_WITH_ROOM(
			status, h->device,
			GpuSketchOps()->merge_begin(h->on_device, source_params(from), source_total(from)));
		if (status != QB_NO_MEMORY)
			return status;
		status = GpuSketchEvict(index);
	}
	if (h->on_host == NULL)
		return status;
	return qs_merge_begin_as(h->on_host, source_params(from), source_total(from));
}

/* The next slice: of so many bytes, or less at the end. */
static qs_slice
next_slice(const qs_params *p, uint64 at)
{
	uint64 units = qs_slice_units(p);
	uint64 bytes = qs_unit_bytes(p) * p->n / units;
	uint64 count = Min(Max(gpu_device_ops->merge_bytes / bytes, 1), units - at);

	return (qs_slice){ at, count };
}

/*
 * Make room for a slice on the device of the sketch that it is taken from: as for anything
 * else, or else by moving the sketch itself.
 */
static bool
make_room(const GpuSketchSource *from)
{
	return GpuMakeRoom(*from->device) || from->to_host(from->index) == QB_OK;
}

/* Take a slice to the worker's memory. */
static qb_status
take(const GpuSketchSource *from, qs_slice units, qs_sketch *slice)
{
	qb_status status;

	do
		status = *from->on_device
					 ? GpuSketchOps()->take_slice(*from->on_device, units, slice, GpuSketchMemory())
					 : qs_take_slice(slice, *from->on_host, units, GpuSketchMemory());
	while (status == QB_NO_MEMORY && *from->on_device && make_room(from));
	return status;
}

/* Add a slice that was taken, on the device. */
static qb_status
add_on_device(const GpuSketchHolding *h, qs_slice to, const qs_sketch *slice)
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

/* Add a slice that was taken, wherever the sketch is. */
static qb_status
add(int index, qs_slice to, const qs_sketch *slice)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qb_status status;

	if (h->on_device)
	{
		status = add_on_device(h, to, slice);
		if (status != QB_NO_MEMORY)
			return status;
		status = GpuSketchEvict(index);
		if (status != QB_OK)
			return status;
	}
	return qs_merge_slice(h->on_host, to, slice, (qs_slice){ 0, to.count });
}

static qb_status
merge_slice(int index, const GpuSketchSource *from, qs_slice units)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qs_sketch slice;
	qb_status status;

	if (h->on_device && *from->on_device && *from->device == h->device)
		return GpuSketchOps()->merge_slice(h->on_device, units, *from->on_device, units);
	status = take(from, units, &slice);
	if (status != QB_OK)
		return status;
	status = add(index, units, &slice);
	qs_free(&slice);
	return status;
}

qb_status
GpuSketchMerge(int index, const GpuSketchSource *from, bool *more)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qb_status status = QB_OK;
	qs_slice units;

	h->frozen = false;
	if (h->merged == 0)
		status = begin(index, from);
	if (status != QB_OK)
		return status;
	units = next_slice(source_params(from), h->merged);
	status = merge_slice(index, from, units);
	h->merged += units.count;
	*more = h->merged < qs_slice_units(source_params(from));
	if (!*more)
		h->merged = 0;
	return status;
}
