/*
 * sets_serve.c
 *		Serves requests for collections of sets in the GPU worker.
 *
 * The value of a handle is a collection on a device, or a search.  A search uses its collections
 * until it ends.  An evicted collection is freed when the last search in it has ended.
 *
 * A device searches a shard of rows while the worker serves other requests.  If a backend requests
 * pairs that are not found yet, the reply has no pairs, and the backend requests them again.
 * Before a reply without pairs, the worker waits briefly, if it has no other requests.
 *
 * src/gpu/worker/sets_serve.c
 */
#include "gpu/sets_gpu.h"
#include "gpu/worker/worker.h"

#include "portability/instr_time.h"
#include "sets_cuda.h"

/* Longest wait for a device, if the worker has no other requests. */
#define PATIENCE_US 1000

typedef struct Collection
{
	qset_cuda_sets *sets;
	int device;
	int users; /* number of users: the collection's handle, and the searches in the collection */
	uint64 count;
	int64 *id;      /* ids of the sets; NULL: not stored */
	uint64 *offset; /* count + 1 offsets; NULL: not stored */
} Collection;

typedef struct SetsValue
{
	Collection *rows;    /* the collection, or the collection of a search's rows */
	Collection *columns; /* the collection of a search's columns; or NULL */
	int device;
	bool searching;
	GpuSetsSearch search;
	qset_cuda_pairs *pairs; /* the search on the device, after SETS_OPEN */
} SetsValue;

static SetsValue sets_value[GPU_HANDLES];

static const qset_sets_ops *
device_ops(void)
{
	return gpu_device_ops->sets;
}

/* ---- collections ---- */

static Collection *
use(Collection *c)
{
	if (c)
		c->users++;
	return c;
}

static void
leave(Collection *c)
{
	if (c == NULL || --c->users > 0)
		return;
	if (c->sets)
	{
		device_ops()->destroy(c->sets);
		GpuNoteFreed(c->device);
	}
	free(c->id);
	free(c->offset);
	free(c);
}

/* Allocate at least "count" words of zeros. */
static void *
words(uint64 count)
{
	return calloc(count + 1, sizeof(uint64));
}

static qb_status
make_collection(Collection **created, int device, uint64 sets)
{
	Collection *c;

	*created = NULL;
	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	if (device < 0 || device >= gpu_shared->device_count || gpu_shared->device[device].lost ||
		(c = calloc(1, sizeof(*c))) == NULL)
		return QB_NO_MEMORY;
	c->device = device;
	c->users = 1;
	c->count = sets;
	*created = c;
	return QB_OK;
}

/* Store a new collection in its handle, or free the collection if "status" is an error. */
static qb_status
finish_collection(Collection *c, qb_status status, SetsValue *h)
{
	if (status != QB_OK)
	{
		leave(c);
		return status;
	}
	h->rows = c;
	GpuCount(COUNT_CREATED, 1);
	return GpuNoteCreated(QB_OK, c->device);
}

static qb_status
serve_create(GpuSlot *slot, SetsValue *h)
{
	const GpuSetsShape *shape = (const GpuSetsShape *) slot->shape.bytes;
	Collection *c;
	int device = shape->device < 0 ? GpuChooseDevice(-1) : shape->device;
	qb_status status = make_collection(&c, device, shape->sets);

	if (status != QB_OK)
		return status;
	h->device = c->device;
	GPU_WITH_ROOM(status, c->device,
				  device_ops()->create(gpu_device[c->device], shape->sets, shape->elements,
									   shape->universe, &c->sets));
	return finish_collection(c, status, h);
}

/*
 * Make a collection of sorted rows.  Its ids and offsets are not stored, because the backend that
 * sorted the rows knows them.
 */
static qb_status
serve_make(GpuSlot *slot, SetsValue *h)
{
	GpuMembershipsSizes sizes;
	int device;
	qset_cuda_memberships *memberships = GpuMembershipsSorted(slot->other.index, &sizes, &device);
	Collection *c;
	qb_status status = memberships ? make_collection(&c, device, sizes.sets) : QB_NO_MEMORY;

	if (status != QB_OK)
		return status;
	h->device = device;
	GPU_WITH_ROOM(status, device, gpu_device_ops->memberships->make(memberships, &c->sets));
	return finish_collection(c, status, h);
}

/* Copy the ids and offsets in the worker's memory. */
static qb_status
copy_arrays(Collection *to, const Collection *from)
{
	if (from->id == NULL)
		return QB_OK;
	to->id = words(from->count);
	to->offset = words(from->count + 1);
	if (to->id == NULL || to->offset == NULL)
		return QB_NO_MEMORY;
	memcpy(to->id, from->id, from->count * sizeof(int64));
	memcpy(to->offset, from->offset, (from->count + 1) * sizeof(uint64));
	return QB_OK;
}

static qb_status
serve_copy(GpuSlot *slot, SetsValue *h, const SetsValue *from)
{
	int device = ((const GpuSetsShape *) slot->shape.bytes)->device;
	Collection *source = from->rows;
	Collection *c;
	qb_status status = make_collection(&c, device, source->count);

	if (status != QB_OK)
		return status;
	h->device = device;
	status = copy_arrays(c, source);
	if (status == QB_OK)
		GPU_WITH_ROOM(status, device,
					  device_ops()->copy(gpu_device[device], source->sets, &c->sets));
	return finish_collection(c, status, h);
}

static qb_status
serve_ids(GpuSlot *slot, Collection *c)
{
	if (c->id == NULL)
	{
		c->id = words(c->count);
		c->offset = words(c->count + 1);
	}
	return c->offset ? GpuTakePiece(slot, c->id, c->count * sizeof(int64)) : QB_NO_MEMORY;
}

static qb_status
serve_offsets(GpuSlot *slot, Collection *c)
{
	uint64 bytes = (c->count + 1) * sizeof(uint64);

	GpuCount(COUNT_BYTES_IN, slot->bytes);
	if (!GpuPieceIsWithin(slot, bytes))
		return QB_NO_MEMORY;
	if (c->offset)
		(void) GpuTakePiece(slot, c->offset, bytes);
	return device_ops()->put_offsets(c->sets, slot->offset / sizeof(uint64),
									 (const uint64 *) GpuSlotData(slot),
									 slot->bytes / sizeof(uint64));
}

static qb_status
serve_elements(GpuSlot *slot, Collection *c)
{
	GpuCount(COUNT_BYTES_IN, slot->bytes);
	return device_ops()->put_elements(c->sets, slot->offset / sizeof(uint32),
									  (const uint32 *) GpuSlotData(slot),
									  slot->bytes / sizeof(uint32));
}

/* Index a collection, and measure the time. */
static qb_status
serve_index(GpuSlot *slot, Collection *c)
{
	GpuSetsReply *reply = (GpuSetsReply *) slot->shape.bytes;
	instr_time start;
	instr_time end;
	qb_status status;

	INSTR_TIME_SET_CURRENT(start);
	GPU_WITH_ROOM(status, c->device, device_ops()->index(c->sets));
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	reply->ms = INSTR_TIME_GET_MILLISEC(end);
	return status;
}

static qb_status
serve_collection(GpuSlot *slot, Collection *c)
{
	switch ((GpuSetsOp) slot->op)
	{
		case SETS_IDS:
			return serve_ids(slot, c);
		case SETS_OFFSETS:
			return serve_offsets(slot, c);
		case SETS_ELEMENTS:
			return serve_elements(slot, c);
		case SETS_INDEX:
			return serve_index(slot, c);
		case SETS_GET_IDS:
			return GpuGivePiece(slot, c->id, c->count * sizeof(int64));
		case SETS_GET_OFFSETS:
			return GpuGivePiece(slot, c->offset, (c->count + 1) * sizeof(uint64));
		default:
			return QB_DEVICE_ERROR;
	}
}

/* ---- searches ---- */

static qb_status
serve_search(const GpuSlot *slot, SetsValue *h, const SetsValue *rows)
{
	h->rows = use(rows->rows);
	h->device = h->rows->device;
	h->search = *(const GpuSetsSearch *) slot->shape.bytes;
	h->searching = true;
	return QB_OK;
}

static qb_status
serve_open(GpuSlot *slot, SetsValue *h)
{
	GpuSetsReply *reply = (GpuSetsReply *) slot->shape.bytes;
	qset_cuda_request request = { .rows = h->rows->sets,
								  .columns = h->columns ? h->columns->sets : NULL,
								  .filter = h->search.filter,
								  .method = h->search.method,
								  .directed = h->search.directed };
	qset_cuda_report report;
	qb_status status;

	memset(reply, 0, sizeof(*reply));
	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	GPU_WITH_ROOM(status, h->rows->device,
				  device_ops()->search(gpu_device[h->rows->device], &request, &h->pairs));
	GpuCount(COUNT_SEARCHES, 1);
	if (status != QB_OK)
		return status;
	device_ops()->report(h->pairs, &report);
	reply->ms = report.expected_ms;
	reply->method = report.method;
	return QB_OK;
}

static instr_time waiting_since;

/* True if the worker may wait longer for a device. */
static bool
has_patience(void)
{
	instr_time now;

	if (!GpuIsAlone())
		return false;
	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, waiting_since);
	return INSTR_TIME_GET_MICROSEC(now) < PATIENCE_US;
}

static qb_status
serve_pairs(GpuSlot *slot, SetsValue *h)
{
	GpuSetsReply *reply = (GpuSetsReply *) slot->shape.bytes;
	qset_cuda_report report;
	uint64 count;
	bool over;
	qb_status status;

	INSTR_TIME_SET_CURRENT(waiting_since);
	status = device_ops()->next(h->pairs, has_patience, (qset_pair *) GpuSlotData(slot),
								GPU_SLOT_PAIRS, &count, &over);
	if (status != QB_OK)
		return status;
	device_ops()->report(h->pairs, &report);
	*reply = (GpuSetsReply){ .over = over, .at = report.strips };
	slot->count = (int) count;
	GpuCount(COUNT_PAIRS, count);
	GpuCount(COUNT_BYTES_OUT, count * sizeof(qset_pair));
	return QB_OK;
}

static qb_status
serve_searching(GpuSlot *slot, SetsValue *h)
{
	const GpuSetsRows *rows = (const GpuSetsRows *) slot->shape.bytes;

	if (slot->op == SETS_OPEN)
		return serve_open(slot, h);
	if (h->pairs == NULL)
		return QB_NO_MEMORY;
	if (slot->op == SETS_ROWS)
		return device_ops()->begin(h->pairs, rows->first, rows->first + rows->count);
	return slot->op == SETS_PAIRS ? serve_pairs(slot, h) : QB_DEVICE_ERROR;
}

/* ---- the handler ---- */

static qb_status
serve_sets(GpuSlot *slot)
{
	SetsValue *h = &sets_value[slot->handle.index];
	const SetsValue *other = slot->other.serial != 0 ? &sets_value[slot->other.index] : NULL;

	if (slot->op == SETS_MAKE)
		return serve_make(slot, h);
	if (other && (other->rows == NULL || other->searching))
		return QB_NO_MEMORY;
	if (slot->op == SETS_CREATE)
		return serve_create(slot, h);
	if (slot->op == SETS_COPY && other)
		return serve_copy(slot, h, other);
	if (slot->op == SETS_SEARCH && other)
		return serve_search(slot, h, other);
	if (h->rows == NULL)
		return QB_NO_MEMORY;
	if (slot->op == SETS_AGAINST && other)
	{
		h->columns = use(other->rows);
		return QB_OK;
	}
	return h->searching ? serve_searching(slot, h) : serve_collection(slot, h->rows);
}

static void
drop_sets(int index)
{
	SetsValue *h = &sets_value[index];

	if (h->pairs)
		device_ops()->end(h->pairs);
	leave(h->columns);
	leave(h->rows);
	memset(h, 0, sizeof(*h));
}

static GpuLocation
location_of_sets(int index)
{
	const SetsValue *h = &sets_value[index];
	GpuLocation location = { .device = h->device, .on_device = h->rows != NULL };

	if (h->pairs)
		location.bytes = device_ops()->search_bytes(h->pairs);
	else if (h->rows && !h->searching)
		location.bytes = device_ops()->bytes(h->rows->sets);
	return location;
}

const GpuHandler gpu_sets_handler = {
	.serve = serve_sets,
	.reads = 1 << SETS_GET_IDS | 1 << SETS_GET_OFFSETS,
	.reads_other = 1 << SETS_COPY | 1 << SETS_MAKE | 1 << SETS_SEARCH | 1 << SETS_AGAINST,
	.faulty = ~0u,
	.drop = drop_sets,
	.location = location_of_sets,
};
