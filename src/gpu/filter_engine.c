/*
 * filter_engine.c
 *		The GPU engine of filters: moves the filter of an aggregate to a device.
 *
 * A new filter is in the backend's memory, in explicit encoding.  It moves to a device with the
 * batch of rows that may make it dense, or so full that the CPU's caches no longer help.  The
 * backend sends the bits and all further rows to the device, and then knows only the number of
 * rows.  A function that reads the filter first materializes it: the bits are fetched, and the
 * filter is in the backend again.  The filter is the union of all bits, so the result does not
 * depend on the time of the move.
 *
 * The CPU merges filters.  A device would first need the bits of the other filter, and sending the
 * bits takes longer than merging them on the CPU.
 *
 * "remote" points to a Remote in the filter's memory context.  The device's filter is dropped with
 * that context.
 *
 * src/gpu/filter_engine.c
 */
#include "gpu/column_gpu.h"
#include "gpu/filter_gpu.h"

#include <math.h>

/*
 * The factor for the size of a filter when it is compared with limits for sketches.  The CPU needs
 * about twice as much time for a row of a filter as for a row of a sketch.  For a device, the two
 * times are equal.  With each measured number of processes, a GPU was faster than the CPU for
 * filters of at least GpuLookupBytes() / 8.
 */
#define SIZE_FRACTION 8

/*
 * If rows set fewer bits than this on average, adding the rows on the CPU takes hardly longer than
 * sending the rows.
 */
#define BITS_MIN 0.25

/*
 * With qsketch.device = auto, a filter of at most STAY_BYTES stays on the CPU until STAY_ONES bits
 * are set.
 */
#define STAY_BYTES (2 * 1024 * 1024)
#define STAY_ONES  65536

/*
 * If too few rows are expected, a filter of more than STAY_BYTES moves to a device after one random
 * access for each BYTES_OF_ACCESS bytes of the filter.
 */
#define BYTES_OF_ACCESS 16

/*
 * ---- a backend's calls ----
 *
 * Bits and rows are posted.  Errors of posted requests show only in the reply to a later request.
 * All other requests wait for their replies.  Each send function returns the number of rows,
 * positions or bytes that it has sent.  download() checks that the sum of these numbers arrived.
 */

/* Create an empty filter on this device (-1: on any); false: no memory or no handle is free. */
static bool
create(const qf_params *params, int device, GpuRef *ref)
{
	return GpuMake(GPU_FAMILY_FILTER, FILTER_CREATE, device, params, sizeof(*params), ref);
}

/* Send the positions of an explicit filter.  All positions fit into one slot. */
static uint64
send_positions(const GpuRef *ref, const qf_filter *f)
{
	GpuSlot *slot = GpuTakeSlot(ref, FILTER_SET, false);
	uint32 *position = (uint32 *) GpuSlotData(slot);
	uint64_t at = 0;
	int count = 0;

	while (count < QF_EXPLICIT_MAX && qf_explicit_next(f, &at, &position[count]))
		count++;
	slot->count = count;
	GpuPost(slot);
	return count;
}

/* Send all bits of a dense filter, or the positions of an explicit filter. */
static uint64
send_bits(const GpuRef *ref, const qf_filter *f)
{
	uint64 bytes = qf_words(&f->params) * 8;

	if (f->encoding == QF_EXPLICIT)
		return send_positions(ref, f);
	GpuPostArray(ref, FILTER_WRITE, f->bits, bytes);
	return bytes;
}

static void
ask_rows(const GpuTransfer *transfer, GpuSlot *slot, uint64 at, uint64 size)
{
	const qf_batch *batch = transfer->context;
	const void *number = batch->row ? (const void *) (batch->row + at)
									: (batch->copies ? (const void *) (batch->copies + at) : NULL);
	GpuFilterRows *rows = (GpuFilterRows *) slot->shape.bytes;
	uint64 *data = (uint64 *) GpuSlotData(slot);

	rows->nonce = batch->nonce;
	rows->first = batch->first_row + at;
	rows->ids = batch->row != NULL;
	slot->count = (int) size;
	slot->weighted = number != NULL;
	memcpy(data, batch->fingerprint + at, size * sizeof(uint64));
	if (number)
		memcpy(data + size, number, size * sizeof(uint64));
}

static uint64
send_rows(const GpuRef *ref, const qf_batch *batch)
{
	qf_batch rows = *batch;
	GpuTransfer transfer = { .ref = ref,
							 .op = FILTER_INSERT,
							 .all = batch->count,
							 .most = batch->row || batch->copies ? GPU_SLOT_WEIGHED : GPU_SLOT_KEYS,
							 .ask = ask_rows,
							 .context = &rows };

	GpuPostAll(&transfer);
	return batch->count;
}

static bool
load_stored(const void *filter, GpuRef *ref)
{
	const qf_filter *f = filter;

	if (!create(&f->params, -1, ref))
		return false;
	(void) send_bits(ref, f);
	return true;
}

const GpuStored gpu_stored_filters = {
	.family = GPU_FAMILY_FILTER,
	.header_bytes = QF_HEADER_BYTES,
	.load = load_stored,
};

/*
 * Make an empty filter dense.  Its bits are not initialized, because fetched bits will replace
 * them.
 */
static qb_status
bits_to_fill(qf_filter *f)
{
	const qb_memory *memory = f->memory;
	qb_memory to_fill;
	qb_status status;

	f->memory = MemoryToFill(memory, &to_fill);
	status = qf_make_dense(f);
	f->memory = memory;
	return status;
}

/*
 * Fetch a filter from the worker into "f", an empty owned filter, which becomes dense.  "given" is
 * the expected GpuFilterState.given.
 */
static qb_status
download(const GpuRef *ref, uint64 given, qf_filter *f)
{
	GpuFilterState state;
	qb_status status = GpuFetchOne(GpuTakeSlot(ref, FILTER_FETCH, false), &state, sizeof(state));

	if (status == QB_OK && state.given != given)
		elog(ERROR, "filter on the GPU was given " UINT64_FORMAT ", not " UINT64_FORMAT,
			 state.given, given);
	if (status == QB_OK)
		status = bits_to_fill(f);
	if (status == QB_OK &&
		!GpuFetchArray(ref, FILTER_READ, 0, 0, f->bits, qf_words(&f->params) * 8))
		GpuRaiseFailure();
	f->ones = state.ones;
	return status;
}

/* ---- the engine ---- */

typedef struct Remote
{
	GpuScopedHandle handle;
	uint64 given; /* sum of rows, positions and bytes sent to the device */
} Remote;

/* Mark the filter remote: its bits are on a device.  "given" counts what was sent to the device. */
static void
become_remote(qf_filter *f, const GpuRef *ref, uint64 given)
{
	Remote *remote = MemoryContextAllocZero(f->memory->context, sizeof(Remote));

	remote->given = given;
	GpuScopeHandle(&remote->handle, ref, f->memory->context);
	qf_free(f);
	f->slots = 0;
	f->encoding = QF_DENSE;
	f->remote = remote;
}

/*
 * Move a filter to this device (-1: to any).  The filter stays in this process if no memory or no
 * handle is free.
 */
static void
move(qf_filter *f, int device)
{
	GpuRef ref;

	if (create(&f->params, device, &ref))
		become_remote(f, &ref, send_bits(&ref, f));
	else
		GpuCount(COUNT_FALLBACKS, 1);
}

static uint64
weighed_bytes(const qf_params *p)
{
	return SIZE_FRACTION * qf_dense_size(p);
}

/* True if rows set so few bits that using a device does not pay. */
static bool
sets_few_bits(const qf_params *p)
{
	return p->k * qf_probability(p) < BITS_MIN;
}

/* Random accesses to memory when the CPU adds a row.  A blocked filter needs only one access. */
static double
accesses_of_row(const qf_params *p)
{
	return p->layout == QF_BLOCKED ? 1 : p->k * qf_probability(p);
}

/*
 * True if enough rows are expected for a GPU to pay.  Each process fetches its own filter, and the
 * CPU merges the filters.
 */
static bool
has_rows(const qf_params *p, const StateWork *work)
{
	return GpuPaysForFetching(work->rows * accesses_of_row(p), qf_dense_size(p));
}

const char *
GpuFilterReason(const qf_params *p, const StateWork *work)
{
	const char *reason = GpuReason();

	if (reason || device_setting == DEVICE_GPU)
		return reason;
	if (!GpuIsLarge(weighed_bytes(p)))
		return GpuSmallReason("filter", qf_dense_size(p), work);
	if (sets_few_bits(p))
		return "rows set less than a quarter of a bit of the filter on average";
	if (qf_dense_size(p) <= STAY_BYTES || has_rows(p, work) || work->rows <= 0)
		return NULL;
	return GpuFewReason("filter", qf_dense_size(p), work);
}

/*
 * An explicit filter is read on the CPU.  A compact filter must be decoded before it is sent.
 * Decoding does not pay if the filter has few enough bits for the explicit encoding.
 */
bool
GpuFilterWantsLookup(const qf_filter *f, size_t count)
{
	if (f->encoding == QF_EXPLICIT ||
		(f->encoding == QF_ENCODING_COMPACT && f->ones <= qf_explicit_limit(&f->params)))
		return false;
	return GpuMayLookup(count) && GpuIsLarge(weighed_bytes(&f->params));
}

/*
 * The number of set bits at which a filter moves to a device.  Sending and fetching take time, and
 * the CPU is hardly slower than a device while the bits are in its caches.  With qsketch.device =
 * gpu, a filter moves when it becomes dense.  With auto, a filter of at most STAY_BYTES moves when
 * STAY_ONES bits are set.  A larger filter moves when it becomes dense, or after more rows if too
 * few rows are expected ("late").
 */
static double
leaves_with(const qf_params *p, bool late)
{
	double limit = qf_explicit_limit(p);

	if (device_setting == DEVICE_GPU)
		return limit;
	if (qf_dense_size(p) <= STAY_BYTES)
		return Max(STAY_ONES, limit);
	if (!late)
		return limit;
	return Max(limit, (double) qf_dense_size(p) / BYTES_OF_ACCESS * p->k * qf_probability(p) /
						  accesses_of_row(p));
}

/*
 * Upper limit of the number of bits that a batch of rows sets.  If the rows set random bits, the
 * limit holds almost certainly.
 */
static double
bits_of(const qf_params *p, const qf_batch *b)
{
	double all = (double) p->k * (double) b->count;
	double mean = all * qf_probability(p);

	return b->copies ? all : Min(all, mean + 6 * sqrt(mean) + 6);
}

/* True if the filter must move to a device before this batch is inserted. */
static bool
leaves_now(const qf_filter *f, const qf_batch *b, bool late)
{
	double limit = leaves_with(&f->params, late);

	return GpuReason() == NULL && (double) f->ones <= limit &&
		   (double) f->ones + bits_of(&f->params, b) > limit;
}

/* Insert rows into a filter without moving it. */
static qb_status
insert_stays(qf_filter *f, const qf_batch *b)
{
	Remote *remote = f->remote;
	int64 rows;
	qb_status status;

	if (remote == NULL)
		return qf_engine_cpu.insert(f, b);
	rows = qf_batch_rows(b);
	status = rows < 0 ? QB_TOTAL_OVERFLOW : qf_count_rows(f, rows, b->row == NULL);
	if (status == QB_OK)
		remote->given += send_rows(&remote->handle.ref, b);
	return status;
}

/*
 * Insert rows into a filter.  If the batch may reach the limit of leaves_with(), the filter first
 * moves to a device.
 */
static qb_status
insert_early(qf_filter *f, const qf_batch *b)
{
	if (f->remote == NULL && leaves_now(f, b, false))
		move(f, -1);
	return insert_stays(f, b);
}

static qb_status
insert_late(qf_filter *f, const qf_batch *b)
{
	if (f->remote == NULL && leaves_now(f, b, true))
		move(f, -1);
	return insert_stays(f, b);
}

qb_status
GpuFilterAddColumn(qf_filter *f, const GpuColumnChunk *chunk, int chunks, int64 *count)
{
	Remote *remote;

	*count = 0;
	if (chunks == 0)
		return QB_OK;
	if (f->remote == NULL)
		move(f, GpuColumnDevice(chunk));
	remote = f->remote;
	if (remote == NULL)
		return QB_OK;
	(void) GpuColumnSend(&remote->handle.ref, FILTER_COLUMN, chunk, chunks, count);
	remote->given += (uint64) *count;
	return qf_count_rows(f, *count, true);
}

static qb_status
gpu_materialize(qf_filter *f)
{
	Remote *remote = f->remote;
	qf_filter here;
	qb_status status;

	if (remote == NULL)
		return QB_OK;
	qf_init(&here, &f->params, f->memory);
	here.keys = f->keys;
	here.rows = f->rows;
	status = download(&remote->handle.ref, remote->given, &here);
	if (status != QB_OK)
		return status;
	GpuDropScopedHandle(&remote->handle);
	*f = here;
	return QB_OK;
}

static qb_status
gpu_merge(qf_filter *into, const qf_filter *from)
{
	qb_status status = qf_mergeable(into, from) ? gpu_materialize(into) : QB_MISMATCH;

	return status == QB_OK ? qf_engine_cpu.merge(into, from) : status;
}

static void
gpu_query(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set)
{
	qf_engine_cpu.query(f, fingerprint, count, set);
}

static void
gpu_contains(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	qf_engine_cpu.contains(f, fingerprint, count, found);
}

static size_t
gpu_batch(const qf_filter *f)
{
	return f->remote ? GPU_SLOT_KEYS : QF_BATCH;
}

#define ENGINE(function)                                                                      \
	{                                                                                         \
		.insert = function, .query = gpu_query, .contains = gpu_contains, .merge = gpu_merge, \
		.materialize = gpu_materialize, .batch = gpu_batch                                    \
	}

/*
 * The engine is chosen when a filter is created.  With each of these engines, cached columns may
 * move a Bloom filter to a device.
 */
static const qf_engine staying_engine = ENGINE(insert_stays);
static const qf_engine early_engine = ENGINE(insert_early);
static const qf_engine late_engine = ENGINE(insert_late);

const qf_engine *
GpuFilterEngine(const qf_params *p, const StateWork *work)
{
	if (!GpuIsWanted())
		return &qf_engine_cpu;
	if (device_setting == DEVICE_GPU)
		return &early_engine;
	if (!GpuIsLarge(weighed_bytes(p)) || sets_few_bits(p))
		return &staying_engine;
	return has_rows(p, work) ? &early_engine : &late_engine;
}
