/*
 * sketch_parts.c
 *		Sketches in the GPU worker that get keys of copies on several devices.
 *
 * A sketch is on one device.  Keys of copies on another device go into a part of the
 * sketch there, a sketch of its own with the same parameters.  So keys stay where they
 * are, and each device counts its own.  The parts are merged into the sketch before
 * anybody reads it or merges it with another one.
 *
 * A part comes through the worker's memory to the device of the sketch.  Between two parts
 * others have their turns.
 *
 * src/gpu/sketch_parts.c
 */
#include "gpu/column_worker.h"
#include "gpu/settings.h"
#include "gpu/sketch_holding.h"

/* Have a part on a device. */
static qb_status
make_part(GpuSketchHolding *h, int device)
{
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	do
		status = GpuSketchOps()->create(gpu_device[device], &h->params, &h->part[device]);
	while (status == QB_NO_MEMORY && GpuMakeRoom(device));
	if (status != QB_OK)
		return status;
	h->parts++;
	pg_atomic_fetch_add_u64(&gpu_shared->device[device].values, 1);
	return QB_OK;
}

static void
drop_part(GpuSketchHolding *h, int device)
{
	GpuSketchOps()->destroy(h->part[device]);
	h->part[device] = NULL;
	h->parts--;
	pg_atomic_fetch_sub_u64(&gpu_shared->device[device].values, 1);
	GpuShowMemory(device);
}

void
GpuSketchDropParts(GpuSketchHolding *h)
{
	int device;

	for (device = 0; device < GPU_DEVICES_MAX && h->parts > 0; device++)
		if (h->part[device])
			drop_part(h, device);
}

qb_status
GpuSketchInsertPart(GpuSketchHolding *h, const GpuPicked *picked)
{
	qb_status status = QB_OK;

	if (h->part[picked->device] == NULL)
		status = make_part(h, picked->device);
	if (status == QB_OK)
		status = GpuSketchOps()->insert_device(h->part[picked->device], picked->key, picked->count);
	GpuShowMemory(picked->device);
	return status;
}

/* Merge a part that is in the worker's memory into a sketch on a device. */
static qb_status
merge_on_device(GpuSketchHolding *h, const qs_sketch *part)
{
	void *loaded;
	qb_status status;

	do
		status = GpuSketchOps()->load(gpu_device[h->device], part, &loaded);
	while (status == QB_NO_MEMORY && GpuMakeRoom(h->device));
	if (status != QB_OK)
		return status;
	status = GpuSketchOps()->merge(h->on_device, loaded);
	GpuSketchOps()->destroy(loaded);
	return status;
}

/* Merge a part into its sketch, which comes to the worker's memory if the device has none for that. */
static qb_status
merge_part(int index, int device)
{
	GpuSketchHolding *h = &gpu_sketch_holding[index];
	qs_sketch part = { .form = QS_EXPLICIT };
	qb_status status = GpuSketchOps()->fetch(h->part[device], &part, GpuSketchMemory());

	if (status != QB_OK)
		return status;
	if (h->on_device)
	{
		status = merge_on_device(h, &part);
		if (status == QB_NO_MEMORY)
			status = GpuSketchEvict(index);
	}
	if (status == QB_OK && h->on_host)
		status = qs_merge(h->on_host, &part);
	qs_free(&part);
	if (status == QB_OK)
		drop_part(h, device);
	return status;
}

qb_status
GpuSketchMergePart(int index)
{
	int device = 0;

	while (gpu_sketch_holding[index].part[device] == NULL)
		device++;
	return merge_part(index, device);
}
