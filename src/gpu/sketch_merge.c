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

/* A slice on its way. */
typedef struct Piece
{
	qs_slice to;   /* of the sketch that grows */
	qs_slice from; /* of the other one */
} Piece;

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

	do
		status = GpuSketchOps()->merge_begin(h->on_device, from->params, total);
	while (status == QB_NO_MEMORY && GpuMakeRoom(h->device));
	h->params.n = Min(h->params.n, from->params->n);
	h->merged = (GpuSketchMerged){ .begun = status == QB_OK };
	return status;
}

/* The next slice: of so many bytes, or less at the end. */
static Piece
next_piece(const qs_params *into, const qs_params *from, uint64 at)
{
	uint64 units = qs_slice_units(into);
	uint64 more = from->n / into->n;
	uint64 bytes = qs_unit_bytes(from) * from->n / qs_slice_units(from) * more;
	uint64 count = Min(Max(gpu_device_ops->merge_bytes / bytes, 1), units - at);

	return (Piece){ .to = { at, count }, .from = { at * more, count * more } };
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
	void *loaded;
	qb_status status;

	do
		status = GpuSketchOps()->load(gpu_device[h->device], slice, &loaded);
	while (status == QB_NO_MEMORY && GpuMakeRoom(h->device));
	if (status != QB_OK)
		return status;
	status = GpuSketchOps()->merge_slice(h->on_device, to, loaded, all);
	GpuSketchOps()->destroy(loaded);
	return status;
}

static qb_status
merge_piece(const GpuSketchHolding *h, const GpuSketchSource *from, const Piece *piece)
{
	qs_sketch slice;
	qb_status status;

	if (from->device == h->device)
		return GpuSketchOps()->merge_slice(h->on_device, piece->to, from->sketch, piece->from);
	status = take(from, piece->from, &slice);
	if (status != QB_OK)
		return status;
	status = add(h, piece->to, &slice);
	qs_free(&slice);
	return status;
}

qb_status
GpuSketchMerge(GpuSketchHolding *h, const GpuSketchSource *from, bool *more)
{
	qb_status status = h->merged.begun ? QB_OK : begin(h, from);
	Piece piece;

	if (status != QB_OK)
		return status;
	piece = next_piece(&h->params, from->params, h->merged.units);
	status = merge_piece(h, from, &piece);
	if (status != QB_OK)
		return status;
	h->merged.units += piece.to.count;
	*more = h->merged.units < qs_slice_units(&h->params);
	if (!*more)
		h->merged = (GpuSketchMerged){ 0 };
	return QB_OK;
}
