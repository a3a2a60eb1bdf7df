/*
 * column_exact.c
 *		Exact counts of keys of cached columns: a backend's calls, and the worker's request handler.
 *
 * src/gpu/column_exact.c
 */
#include "gpu/worker/column_worker.h"
#include "gpu/gpu.h"

#include "column_cuda.h"
#include "port/pg_bitutils.h"

StaticAssertDecl(GPU_DEVICES_MAX <= QS_CUDA_RANGES_MAX, "each device has a range");

/* The shape of all requests and replies. */
typedef struct ExactShape
{
	uint64 number; /* EXACT_CREATE: limit of keys; replies: bitmap of devices, or number of keys */
	int device;    /* the device, if the request is for one device */
} ExactShape;

static ExactShape *
shape_in(GpuSlot *slot)
{
	return (ExactShape *) slot->shape.bytes;
}

/* ---- the backend's calls ---- */

bool
GpuExactBegin(GpuRef *ref, uint64 keys)
{
	const ExactShape shape = { .number = keys };

	return GpuMake(GPU_FAMILY_EXACT, EXACT_CREATE, 0, &shape, sizeof(shape), ref);
}

/* The keys of a range on one device, by descending count. */
typedef struct Range
{
	int device;
	uint64 found; /* distinct keys in the range */
	int wanted;   /* number of keys to fetch */
	int next;
	GpuExactKey *best;
} Range;

typedef struct Ranges
{
	const GpuRef *ref;
	int count;
	int pieces; /* maximum number of pieces in which a range is read */
	Range range[GPU_DEVICES_MAX];
} Ranges;

static void
ask_range(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	shape_in(slot)->device = ((const Ranges *) transfer->context)->range[at].device;
}

/* The reply of EXACT_ORDER, the last request, has the number of keys in the range. */
static void
take_range(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	((Ranges *) transfer->context)->range[at].found = shape_in(slot)->number;
}

/*
 * Have all devices with keys serve a request at the same time; false: the value is gone, or the
 * request failed on a device.
 */
static bool
ask_devices(Ranges *all, GpuExactOp op)
{
	const GpuTransfer transfer = { .ref = all->ref,
								   .op = op,
								   .all = all->count,
								   .most = 1,
								   .ask = ask_range,
								   .take = take_range,
								   .context = all };

	return GpuAskAll(&transfer);
}

/*
 * Find the devices that have keys, and let each device sort a range; false: the value is gone, or a
 * request failed.
 */
static bool
order_ranges(Ranges *all)
{
	ExactShape shape;
	uint32 devices;

	if (GpuAskOne(GpuTakeSlot(all->ref, EXACT_DEVICES, false), &shape, sizeof(shape)) != QB_OK)
		return false;
	for (devices = (uint32) shape.number; devices != 0; devices &= devices - 1)
		all->range[all->count++].device = pg_rightmost_one_pos32(devices);
	return ask_devices(all, EXACT_LIST) && (all->count < 2 || ask_devices(all, EXACT_FIND)) &&
		   ask_devices(all, EXACT_ORDER);
}

/*
 * The range that a piece reads.  *first becomes the index of the piece's first key.  *count becomes
 * the piece's number of keys, which may be 0.
 */
static Range *
find_piece(const GpuTransfer *transfer, uint64 at, int *first, int *count)
{
	Ranges *all = transfer->context;
	Range *range = &all->range[at / all->pieces];

	*first = (int) (at % all->pieces) * GPU_SLOT_WEIGHED;
	*count = Max(Min(range->wanted - *first, GPU_SLOT_WEIGHED), 0);
	return range;
}

static void
ask_best(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	int first;

	shape_in(slot)->device = find_piece(transfer, at, &first, &slot->count)->device;
	slot->offset = slot->count > 0 ? first : 0;
}

static void
take_best(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const int64 *key = (const int64 *) GpuSlotData(slot);
	int first;
	int count;
	Range *range = find_piece(transfer, at, &first, &count);
	int i;

	for (i = 0; i < count; i++)
		range->best[first + i] = (GpuExactKey){ .key = key[i], .times = key[count + i] };
}

/*
 * Read from each range its most frequent keys, at most "most" keys; false: the value is gone, or a
 * request failed.
 */
static bool
read_ranges(Ranges *all, int most)
{
	GpuTransfer transfer = { .ref = all->ref,
							 .op = EXACT_READ,
							 .most = 1,
							 .ask = ask_best,
							 .take = take_best,
							 .context = all };
	int i;

	for (i = 0; i < all->count; i++)
	{
		Range *range = &all->range[i];

		range->wanted = (int) Min(range->found, most);
		range->best = palloc_array(GpuExactKey, range->wanted + 1);
		all->pieces = Max(all->pieces, (range->wanted + GPU_SLOT_WEIGHED - 1) / GPU_SLOT_WEIGHED);
	}
	transfer.all = all->count * all->pieces;
	return GpuAskAll(&transfer);
}

/* The range whose next key is the most frequent of all; NULL: no keys are left. */
static Range *
next_range(Ranges *all)
{
	Range *best = NULL;
	int i;

	for (i = 0; i < all->count; i++)
	{
		Range *range = &all->range[i];
		const GpuExactKey *key = &range->best[range->next];
		const GpuExactKey *than = best ? &best->best[best->next] : NULL;

		if (range->next < range->wanted && (best == NULL || key->times > than->times ||
											(key->times == than->times && key->key < than->key)))
			best = range;
	}
	return best;
}

GpuExactKey *
GpuExactBest(const GpuRef *ref, int most, int *count)
{
	Ranges all = { .ref = ref };
	GpuExactKey *best;
	Range *range;

	if (!order_ranges(&all) || !read_ranges(&all, most))
		return NULL;
	best = palloc_array(GpuExactKey, most);
	for (*count = 0; *count < most && (range = next_range(&all)) != NULL; (*count)++)
		best[*count] = range->best[range->next++];
	return best;
}

/*
 * ---- the worker's request handler for exact counts of keys ----
 *
 * Each device counts the keys of its own chunks, and sorts one range of all keys.  The ranges have
 * about equal numbers of keys.  Their bounds are chosen from samples of all lists, by the number of
 * keys that each sample represents.
 *
 * The counts of a device have memory for at most piece_work keys (qs_device_ops).  For a single
 * device, memory for all keys is enough.  Each of several devices needs up to twice as much memory,
 * because it stores its list and its range.  If device memory is short, the counts are smaller.
 * Chunks are not freed to get memory, because the chunks have the keys to be counted.
 */

/*
 * The smallest size of counts, in keys.  The list of distinct keys would soon fill smaller counts.
 */
#define LEAST_ROOM 8192

/* The counts of the keys on one device. */
typedef struct Counts
{
	qs_cuda_exact *exact; /* NULL: no keys have arrived */
	uint64 listed;        /* distinct keys in the device's list */
	int64 sample[QS_CUDA_SAMPLES];
	uint64 range_start[QS_CUDA_RANGES_MAX + 1]; /* start of each range, and end of the list */
	uint64 found;                               /* distinct keys in the range of this device */
} Counts;

/* The counts of a handle.  In the bitmaps of devices, bit 1 << index stands for a device. */
typedef struct ExactValue
{
	uint64 keys; /* upper limit of the number of keys */
	uint32 devices;
	uint32 listed;  /* devices that have a list */
	uint32 bounded; /* devices whose "range_start" is set */
	Counts on[GPU_DEVICES_MAX];
} ExactValue;

static ExactValue *exact_value[GPU_HANDLES];

static const qs_exact_ops *
device_ops(void)
{
	return gpu_device_ops->exact;
}

static void
drop_exact(int index)
{
	ExactValue *h = exact_value[index];
	int i;

	for (i = 0; h && i < GPU_DEVICES_MAX; i++)
		if (h->on[i].exact)
		{
			device_ops()->destroy(h->on[i].exact);
			GpuNoteFreed(i);
		}
	free(h);
	exact_value[index] = NULL;
}

/* Create the counts of a device. */
static qb_status
make_on(const ExactValue *h, int device, qs_cuda_exact **exact)
{
	uint64 keys = gpu_shared->device_count > 1 ? 2 * h->keys : h->keys;
	uint64 room = Max(Min(keys, (uint64) gpu_device_ops->piece_work), LEAST_ROOM);
	qb_status status;

	if (gpu_fault == FAULT_MEMORY)
		return QB_NO_MEMORY;
	do
		status = device_ops()->create(gpu_device[device], room, exact);
	while (status == QB_NO_MEMORY && (GpuFreePending() || (room /= 2) >= LEAST_ROOM));
	GpuCount(COUNT_CREATED, status == QB_OK);
	return GpuNoteCreated(status, device);
}

/*
 * The counts of a device that will receive keys, created if necessary; NULL: the creation failed.
 */
static qs_cuda_exact *
exact_on(ExactValue *h, int device, qb_status *status)
{
	Counts *counts = &h->on[device];

	*status = QB_OK;
	if (counts->exact == NULL)
		*status = make_on(h, device, &counts->exact);
	h->devices |= (uint32) (counts->exact != NULL) << device;
	h->listed = h->bounded = 0;
	return counts->exact;
}

static qb_status
serve_create(GpuSlot *slot)
{
	ExactValue *h = calloc(1, sizeof(ExactValue));

	if (h == NULL)
		return QB_NO_MEMORY;
	h->keys = shape_in(slot)->number;
	exact_value[slot->handle.index] = h;
	return QB_OK;
}

static qb_status
add_gathered(GpuSlot *slot, const GpuGathered *gathered)
{
	qb_status status;
	qs_cuda_exact *exact = exact_on(exact_value[slot->handle.index], gathered->device, &status);

	return exact ? device_ops()->add_device(exact, gathered->key, gathered->count) : status;
}

static qb_status
serve_keys(ExactValue *h, GpuSlot *slot)
{
	qs_cuda_exact *exact;
	qb_status status;

	if (slot->count < 0 || slot->count > GPU_SLOT_KEYS)
		return QB_NO_MEMORY;
	exact = exact_on(h, shape_in(slot)->device, &status);
	if (exact)
		status = device_ops()->add(exact, (const uint64 *) GpuSlotData(slot), slot->count);
	GpuCount(COUNT_BYTES_IN, slot->count * sizeof(uint64));
	return status;
}

static qb_status
serve_devices(ExactValue *h, GpuSlot *slot)
{
	shape_in(slot)->number = h->devices;
	return QB_OK;
}

/*
 * Choose the device of a request.  Keys from a backend are added on the first device that has
 * counts.  If no device has counts, device 0 is chosen, or another device if device 0 has failed.
 * Other requests name their device.
 */
static int
choose_device(GpuSlot *slot)
{
	const ExactValue *h = exact_value[slot->handle.index];
	int device = shape_in(slot)->device;

	if (slot->op == EXACT_KEYS)
		device = h && h->devices ? pg_rightmost_one_pos32(h->devices) : GpuChooseDevice(0);
	else if (device < 0 || device >= gpu_shared->device_count)
		device = 0;
	shape_in(slot)->device = device;
	return device;
}

/* The counts of the device that a request is for; NULL: the device has no keys. */
static Counts *
counts_of(ExactValue *h, GpuSlot *slot)
{
	Counts *counts = &h->on[shape_in(slot)->device];

	return counts->exact ? counts : NULL;
}

/* Make the list of distinct keys of a device. */
static qb_status
make_list(ExactValue *h, int device)
{
	Counts *counts = &h->on[device];
	qb_status status = device_ops()->list(counts->exact, &counts->listed, counts->sample);

	if (status != QB_OK)
		return status;
	counts->range_start[0] = 0;
	counts->range_start[1] = counts->listed;
	h->listed |= 1U << device;
	if (h->listed == h->devices && pg_popcount32(h->devices) == 1)
		h->bounded = h->listed;
	return QB_OK;
}

static qb_status
serve_list(ExactValue *h, GpuSlot *slot)
{
	return counts_of(h, slot) ? make_list(h, shape_in(slot)->device) : QB_NO_MEMORY;
}

/*
 * After its last chunk, a device makes its list, while other devices still count.  EXACT_LIST then
 * finds the list complete, unless EXACT_KEYS has added keys.
 */
static qb_status
serve_column(ExactValue *h, GpuSlot *slot)
{
	qb_status status = GpuColumnServeOne(slot, add_gathered);
	int device;

	if (status != QB_OK || slot->more || slot->count == 0)
		return status;
	device = gpu_chunk[slot->other.index]->device;
	return h->on[device].exact ? make_list(h, device) : QB_OK;
}

/* A sampled key of a list, and the number of keys that it represents. */
typedef struct Sample
{
	int64 key;
	uint64 keys;
} Sample;

static int
compare_samples(const void *a, const void *b)
{
	int64 x = ((const Sample *) a)->key;
	int64 y = ((const Sample *) b)->key;

	return (x > y) - (x < y);
}

/*
 * Write the samples of all lists into "sample", and sort them.  *keys becomes the number of keys
 * that the samples represent.  Returns the number of samples.
 */
static int
sort_samples(const ExactValue *h, Sample *sample, uint64 *keys)
{
	int count = 0;
	int i;
	uint32 j;

	*keys = 0;
	for (i = 0; i < GPU_DEVICES_MAX; i++)
	{
		uint32 samples = h->on[i].exact ? qs_cuda_samples(h->on[i].listed) : 0;

		for (j = 0; j < samples; j++)
		{
			sample[count++] = (Sample){ h->on[i].sample[j], h->on[i].listed / samples };
			*keys += h->on[i].listed / samples;
		}
	}
	qsort(sample, count, sizeof(Sample), compare_samples);
	return count;
}

/* Find the smallest key of each range except the first range. */
static void
find_bounds(const ExactValue *h, int ranges, int64 *bound)
{
	Sample sample[GPU_DEVICES_MAX * QS_CUDA_SAMPLES];
	uint64 keys;
	int samples = sort_samples(h, sample, &keys);
	uint64 before = 0;
	int range = 1;
	int i;

	for (i = 0; i < samples; i++)
	{
		while (range < ranges && before >= keys * range / ranges)
			bound[range++ - 1] = sample[i].key;
		before += sample[i].keys;
	}
	while (range < ranges)
		bound[range++ - 1] = PG_INT64_MAX;
}

static qb_status
serve_find(ExactValue *h, GpuSlot *slot)
{
	Counts *counts = counts_of(h, slot);
	int ranges = pg_popcount32(h->devices);
	int64 bound[GPU_DEVICES_MAX];
	qb_status status;

	if (counts == NULL || ranges < 2 || h->listed != h->devices)
		return QB_NO_MEMORY;
	find_bounds(h, ranges, bound);
	status = device_ops()->find(counts->exact, bound, ranges - 1, &counts->range_start[1]);
	counts->range_start[ranges] = counts->listed;
	if (status == QB_OK)
		h->bounded |= 1U << shape_in(slot)->device;
	return status;
}

/*
 * Find in each device's list the slice of keys that are in the range of one device.  The slice of
 * this device's own list is first, so that each device begins with a different list.
 */
static int
list_slices(const ExactValue *h, int device, qs_cuda_exact_slice *slice)
{
	int range = pg_popcount32(h->devices & ((1U << device) - 1));
	int slices = 0;
	int i;

	for (i = 0; i < GPU_DEVICES_MAX; i++)
	{
		const Counts *c = &h->on[(device + i) % GPU_DEVICES_MAX];

		if (c->exact)
			slice[slices++] =
				(qs_cuda_exact_slice){ c->exact, c->range_start[range],
									   c->range_start[range + 1] - c->range_start[range] };
	}
	return slices;
}

/* Serve EXACT_ORDER: each piece adds one slice, and the last piece sorts the range. */
static qb_status
serve_order(ExactValue *h, GpuSlot *slot)
{
	qs_cuda_exact_slice slice[GPU_DEVICES_MAX];
	Counts *counts = counts_of(h, slot);
	int slices;
	qb_status status;

	if (counts == NULL || h->bounded != h->devices)
		return QB_NO_MEMORY;
	slices = list_slices(h, shape_in(slot)->device, slice);
	slot->more = slot->done < slices;
	if (slot->more)
		return device_ops()->join(counts->exact, &slice[slot->done++]);
	status = device_ops()->order(counts->exact, &counts->found);
	shape_in(slot)->number = counts->found;
	return status;
}

static qb_status
serve_read(ExactValue *h, GpuSlot *slot)
{
	uint64 *data = (uint64 *) GpuSlotData(slot);
	const Counts *counts = counts_of(h, slot);

	if (counts == NULL || slot->count < 0 || slot->count > GPU_SLOT_WEIGHED ||
		slot->offset > counts->found || slot->count > counts->found - slot->offset)
		return QB_NO_MEMORY;
	GpuCount(COUNT_BYTES_OUT, 2 * slot->count * sizeof(uint64));
	return device_ops()->get(counts->exact, slot->offset, slot->count, data,
							 (int64 *) data + slot->count);
}

static qb_status
serve_exact(GpuSlot *slot)
{
	static qb_status (*const serve[])(ExactValue * h, GpuSlot * slot) = {
		[EXACT_COLUMN] = serve_column, [EXACT_KEYS] = serve_keys, [EXACT_DEVICES] = serve_devices,
		[EXACT_LIST] = serve_list,     [EXACT_FIND] = serve_find, [EXACT_ORDER] = serve_order,
		[EXACT_READ] = serve_read,
	};
	ExactValue *h = exact_value[slot->handle.index];

	if (slot->op == EXACT_CREATE)
		return serve_create(slot);
	return h ? serve[slot->op](h, slot) : QB_NO_MEMORY;
}

static GpuLocation
location_of_exact(int index)
{
	const ExactValue *h = exact_value[index];
	int first;

	if (h == NULL || h->devices == 0)
		return (GpuLocation){ .on_device = false };
	first = pg_rightmost_one_pos32(h->devices);
	return (GpuLocation){ .device = first,
						  .on_device = true,
						  .replicas = h->devices & (h->devices - 1),
						  .bytes = device_ops()->bytes(h->on[first].exact) };
}

/*
 * EXACT_FIND uses samples of the lists of all devices, and EXACT_ORDER reads these lists.  The
 * backend waits for the replies of earlier requests first, and the handlers check that the lists
 * exist.
 */
const GpuHandler gpu_exact_handler = {
	.serve = serve_exact,
	.reads =
		1 << EXACT_DEVICES | 1 << EXACT_LIST | 1 << EXACT_FIND | 1 << EXACT_ORDER | 1 << EXACT_READ,
	.reads_other = 1 << EXACT_COLUMN,
	.adds = 1 << EXACT_COLUMN,
	.on_host = 1 << EXACT_CREATE | 1 << EXACT_DEVICES,
	.chooses =
		1 << EXACT_KEYS | 1 << EXACT_LIST | 1 << EXACT_FIND | 1 << EXACT_ORDER | 1 << EXACT_READ,
	.choose = choose_device,
	.faulty = ~0u,
	.drop = drop_exact,
	.location = location_of_exact,
};
