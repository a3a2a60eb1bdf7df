/*
 * schedule.c
 *		Scheduling: which request the GPU worker serves next.
 *
 * The worker takes all requests from the queue into lines, one for each process, in the order
 * of the queue.  The process that has had the least of the worker's time is served next.  A
 * process that becomes active starts with the time of the process that was served last, less
 * CREDIT_US.  So it is served soon, but idle time does not add up.  A long request is served
 * in pieces (GpuHandler).  So a short request waits for one piece, however many long requests
 * there are.
 *
 * Requests of several processes may name the same handle: cached values in which all of them
 * look up keys, and values that parallel workers transfer to their leader.  A request that
 * reads the handle waits for all earlier requests that change it or add keys.  A request that
 * adds keys on one device waits for all earlier requests except those that also add keys.  A
 * request that changes the handle waits for all earlier requests. The oldest request never
 * waits for another one.  So there is always a next request, unless devices are still at work
 * for all of them.
 *
 * Each device is given one piece of a request at a time.  Requests for different devices go
 * on at the same time, also those of one process.  No other process gets the devices for
 * which the process that has had the least time waits.
 *
 * A slot holds few keys for a GPU, whose launches and copies take longer to begin than to
 * end.  So requests of one process that follow one another, and change the same handle or copy
 * from it, may be served together, within the time of a piece (GpuTogether()).  Requests that add keys
 * of chunks of one device to the same handle may be served together, too.  Requests for chunks of other
 * devices may stand between them.
 *
 * All of this is the worker's own memory.
 *
 * src/gpu/worker/schedule.c
 */
#include "gpu/worker/worker.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#define NONE (-1)

#define ALL_DEVICES ((1U << gpu_shared->device_count) - 1)

/*
 * For PATIENCE_US a request lets others go first while its device is at work for it.  The
 * device is asked at most every CHECK_US.
 */
#define PATIENCE_US 1000000
#define CHECK_US    40

/*
 * The number of requests of a line that are examined after the first one that needs busy
 * devices.
 */
#define EXAMINE_MAX (2 * GPU_DEVICES_MAX)

/* The credit of a process that becomes active: the time of some pieces. */
#define CREDIT_US 50000

/* The requests of a process, as a list of slots linked by Waiting.next. */
typedef struct Line
{
	int first; /* slot; NONE: there is no request, and the line does not wait */
	int last;
	int next;   /* next waiting line, or NONE */
	uint64 had; /* time in us that it has had; comparable between lines */
} Line;

/*
 * What a request does to a handle.  This decides for which earlier requests it waits.  Bits:
 * 1 << Access.
 */
typedef enum Access
{
	READS,
	ADDS,
	CHANGES,
	ACCESSES
} Access;

static const uint32 waits_for[ACCESSES] = {
	[READS] = 1 << ADDS | 1 << CHANGES,
	[ADDS] = 1 << READS | 1 << CHANGES,
	[CHANGES] = 1 << READS | 1 << ADDS | 1 << CHANGES,
};

/* The requests for a handle so far, and the number of them that were served. */
typedef struct Order
{
	uint32 came[ACCESSES];
	uint32 served[ACCESSES];
} Order;

/* A request that waits or is being served.  The index is the number of its slot. */
typedef struct Waiting
{
	int next;            /* next slot of the same line, or NONE */
	bool served;         /* a piece of it is being served */
	TimestampTz ended;   /* time when its last piece was served */
	TimestampTz checked; /* time when its device was last seen at work for it */
	Order before[2];     /* for its handle and the other one: requests that came before */
} Waiting;

static Line *line; /* for each process */
static Waiting *waiting;
static Order order[GPU_HANDLES];
static int first_line = NONE;
static int requests; /* requests in all lines */
static uint64 clock_now;

void
GpuStartScheduling(void)
{
	int i;

	line = MemoryContextAllocZero(TopMemoryContext, gpu_shared->proc_count * sizeof(Line));
	waiting = MemoryContextAllocZero(TopMemoryContext, gpu_shared->slot_count * sizeof(Waiting));
	for (i = 0; i < gpu_shared->proc_count; i++)
		line[i].first = NONE;
}

/* ---- the order of requests for a handle ---- */

/*
 * The order of the requests for a handle of this request: its own (0), or the other one (1);
 * NULL: it has none.
 */
static Order *
order_of(const GpuSlot *slot, int which)
{
	const GpuRef *ref = which == 0 ? &slot->handle : &slot->other;

	return ref->serial != 0 ? &order[ref->index] : NULL;
}

/*
 * True if the request adds keys and a process waits for it.  Only such requests may be served
 * in any order, because a value is not dropped when one of them fails.
 */
static bool
is_adding(const GpuSlot *slot)
{
	return slot->wait && (GpuHandlerOf(slot->handle.family)->adds >> slot->op & 1);
}

static Access
access_of(const GpuSlot *slot, int which)
{
	const GpuHandler *handler = GpuHandlerOf(slot->handle.family);

	if ((which == 0 ? handler->reads : handler->reads_other) >> slot->op & 1)
		return READS;
	return which == 0 && is_adding(slot) ? ADDS : CHANGES;
}

static void
enter(GpuSlot *slot)
{
	Waiting *w = &waiting[GpuSlotIndex(slot)];
	int which;

	for (which = 0; which < 2; which++)
		if (order_of(slot, which))
			w->before[which] = *order_of(slot, which);
	for (which = 0; which < 2; which++)
		if (order_of(slot, which))
			order_of(slot, which)->came[access_of(slot, which)]++;
}

/* True if all requests for which this one waits have been served. */
static bool
may_be_served(const GpuSlot *slot)
{
	const Waiting *w = &waiting[GpuSlotIndex(slot)];
	int which;
	int i;

	for (which = 0; which < 2; which++)
		for (i = 0; order_of(slot, which) && i < ACCESSES; i++)
			if ((waits_for[access_of(slot, which)] >> i & 1) &&
				order_of(slot, which)->served[i] != w->before[which].came[i])
				return false;
	return true;
}

/*
 * True if the device has finished what the last piece of the request started.  After some
 * time it is also true if the device has not.  Then the request, or the next one that reads
 * the tables, waits for the device, so that a device that hangs is noticed.
 */
static bool
is_ready(const GpuSlot *slot)
{
	const GpuHandler *handler = GpuHandlerOf(slot->handle.family);
	Waiting *w = &waiting[GpuSlotIndex(slot)];
	TimestampTz now;

	if (handler->is_ready == NULL || slot->done == 0)
		return true;
	now = GetCurrentTimestamp();
	if ((uint64) (now - w->checked) < CHECK_US)
		return false;
	if (handler->is_ready(slot) || (uint64) (now - w->ended) > PATIENCE_US)
		return true;
	w->checked = now;
	return false;
}

static void
leave(const GpuSlot *slot)
{
	int which;

	for (which = 0; which < 2; which++)
		if (order_of(slot, which))
			order_of(slot, which)->served[access_of(slot, which)]++;
}

/* ---- lines ---- */

/* Append a request to the line of its process. */
static void
append(GpuSlot *slot)
{
	Line *l = &line[slot->proc];
	int index = GpuSlotIndex(slot);

	waiting[index].next = NONE;
	waiting[index].served = false;
	if (l->first == NONE)
	{
		l->first = index;
		l->had = Max(l->had, clock_now - Min(clock_now, CREDIT_US));
		l->next = first_line;
		first_line = slot->proc;
	}
	else
		waiting[l->last].next = index;
	l->last = index;
	requests++;
}

static void
take_queue(void)
{
	GpuSlot *slot;

	while ((slot = GpuNextRequest()) != NULL)
	{
		enter(slot);
		append(slot);
	}
}

/* Remove a request that was served from its line. */
static void
remove_served(Line *l, int index)
{
	int *link = &l->first;
	int before = NONE;

	while (*link != index)
	{
		before = *link;
		link = &waiting[before].next;
	}
	*link = waiting[index].next;
	if (l->last == index)
		l->last = before;
	requests--;
	if (l->first != NONE)
		return;
	for (link = &first_line; *link != l - line; link = &line[*link].next)
		;
	*link = l->next;
}

/* The device of a handle's value; all devices if it is on several, or on none yet. */
static uint32
devices_of_handle(const GpuRef *ref)
{
	GpuLocation location = GpuHandlerOf(ref->family)->location(ref->index);

	return location.on_device && location.replicas == 0 ? 1U << location.device : ALL_DEVICES;
}

/*
 * A request that needs no device is served in the coroutine of any device that is not taken,
 * if there is one.
 */
static uint32
any_device(uint32 taken)
{
	uint32 left = ALL_DEVICES & ~taken;

	return left != 0 ? left & -left : 1;
}

/* The devices that a request needs. */
static uint32
devices_of(GpuSlot *slot, uint32 taken)
{
	const GpuHandler *handler = GpuHandlerOf(slot->handle.family);
	uint32 devices;

	if (handler->on_host >> slot->op & 1)
		return any_device(taken);
	if (is_adding(slot))
		return devices_of_handle(&slot->other);
	if (handler->chooses >> slot->op & 1)
		devices = 1U << handler->choose(slot);
	else
		devices = devices_of_handle(&slot->handle);
	return slot->other.serial != 0 ? devices | devices_of_handle(&slot->other) : devices;
}

/*
 * The first request of a line that can be served now; NONE: there is none.  It waits for no
 * other request, its device is not at work for it, and none of its devices is taken.
 * *devices: the devices that it needs; with NONE, the devices of the first request that waits
 * only for devices.
 */
static int
first_of(const Line *l, uint32 taken, uint32 *devices)
{
	int examined = 0;
	int i;

	*devices = 0;
	for (i = l->first; i != NONE && examined < EXAMINE_MAX; i = waiting[i].next)
	{
		uint32 needed;

		if (waiting[i].served)
			continue;
		if (!may_be_served(GpuSlotAt(i)) || !is_ready(GpuSlotAt(i)))
			break;
		needed = devices_of(GpuSlotAt(i), taken);
		if ((needed & taken) == 0)
		{
			*devices = needed;
			return i;
		}
		if (examined++ == 0)
			*devices = needed;
		taken |= needed;
	}
	return NONE;
}

/*
 * The line whose request is served next; NULL: there is none.  Lines are compared by the time
 * that they have had.
 */
static Line *
next_line(uint32 busy, int *index, uint32 *devices)
{
	Line *best = NULL;
	int i;

	for (i = first_line; i != NONE; i = line[i].next)
	{
		uint32 needed;
		int first;

		if (best && line[i].had >= best->had)
			continue;
		first = first_of(&line[i], busy, &needed);
		if (first == NONE)
			continue;
		best = &line[i];
		*index = first;
		*devices = needed;
	}
	return best;
}

/*
 * The devices for which the line with the least time waits; 0: it waits for other requests,
 * or for nothing.
 */
static uint32
devices_of_least(uint32 busy)
{
	const Line *least = NULL;
	uint32 devices = 0;
	int i;

	for (i = first_line; i != NONE; i = line[i].next)
	{
		uint32 needed;
		bool ready = first_of(&line[i], busy, &needed) != NONE;

		if (needed == 0 || (least && line[i].had >= least->had))
			continue;
		least = &line[i];
		devices = ready ? 0 : needed;
	}
	return devices;
}

/*
 * The next request, or piece of a request, to be served on devices that are not busy; NULL:
 * there is none.  *devices: the devices that it needs.
 */
GpuSlot *
GpuNextScheduled(uint32 busy, uint32 *devices)
{
	Line *best;
	int index = NONE;

	take_queue();
	if (busy != 0)
		busy |= devices_of_least(busy);
	best = next_line(busy, &index, devices);
	if (best == NULL)
		return NULL;
	clock_now = Max(clock_now, best->had);
	return GpuSlotAt(index);
}

/* Note that a piece of a request begins to be served. */
void
GpuBeginScheduled(const GpuSlot *slot)
{
	waiting[GpuSlotIndex(slot)].served = true;
}

/*
 * Note that a request which should have been served together with others was not.  It waits
 * again.
 */
void
GpuLeaveScheduled(const GpuSlot *slot)
{
	waiting[GpuSlotIndex(slot)].served = false;
}

/* True if the two requests by themselves allow that they are served together. */
static bool
is_alike(const GpuSlot *slot, const GpuSlot *first)
{
	bool reads = access_of(slot, 0) == READS;

	if (slot->op != first->op || slot->handle.serial != first->handle.serial || slot->done != 0)
		return false;
	if (is_adding(slot))
		return slot->wait == first->wait && slot->offset == 0 &&
			   devices_of_handle(&slot->other) == devices_of_handle(&first->other);
	return slot->other.serial == 0 && slot->wait == reads &&
		   (!reads || slot->count == first->count);
}

/*
 * True if the request may be served together with the "joined" requests before it.  A request
 * that changes its handle may be, if no other request for the handle is between them.
 */
static bool
may_join(const GpuSlot *slot, uint32 joined)
{
	const Order *before = &waiting[GpuSlotIndex(slot)].before[0];
	const Order *o = &order[slot->handle.index];

	if (access_of(slot, 0) != CHANGES)
		return may_be_served(slot);
	return before->came[READS] == o->served[READS] && before->came[ADDS] == o->served[ADDS] &&
		   before->came[CHANGES] == o->served[CHANGES] + joined;
}

/*
 * Add requests to slot[0], which is served now: later requests of its line that may be served
 * together with it.  These are changes of the same handle for which nobody waits, with no
 * request of another process for the handle in between; or reads of one part of a value; or
 * additions of keys of chunks on one device, where requests for chunks on other devices are
 * skipped.  Returns the number of requests, with slot[0].
 */
int
GpuTogether(GpuSlot **slot, int most)
{
	const GpuHandler *handler = GpuHandlerOf(slot[0]->handle.family);
	int next = waiting[GpuSlotIndex(slot[0])].next;
	bool adding = is_adding(slot[0]);
	int count = 1;

	if (!(handler->together >> slot[0]->op & 1) || !is_alike(slot[0], slot[0]))
		return 1;
	for (; count < most && next != NONE; next = waiting[next].next)
	{
		GpuSlot *candidate = GpuSlotAt(next);

		if (!waiting[next].served && is_alike(candidate, slot[0]) && may_join(candidate, count))
			slot[count++] = candidate;
		else if (!adding || !is_adding(candidate))
			break;
	}
	return count;
}

/*
 * Note that a piece of a request was served in this time.  If it was the last piece, the
 * request leaves its line.
 */
void
GpuEndScheduled(GpuSlot *slot, uint64 us)
{
	Line *l = &line[slot->proc];
	int index = GpuSlotIndex(slot);

	l->had += Max(us, 1);
	waiting[index].served = false;
	if (slot->more)
	{
		waiting[index].ended = GetCurrentTimestamp();
		waiting[index].checked = 0;
		return;
	}
	remove_served(l, index);
	leave(slot);
	GpuReply(slot);
}

/* True if the request that is being served is the only one. */
bool
GpuIsAlone(void)
{
	return requests == 1 && GpuIsIdle();
}

/* True if there is a request that has not been served completely. */
bool
GpuHasRequests(void)
{
	return requests > 0;
}

/* ---- requests that nobody wants any more ---- */

static bool
is_pending_free(int index)
{
	bool pending_free;

	LWLockAcquire(gpu_shared->handles, LW_SHARED);
	pending_free = gpu_shared->handle[index].state == HANDLE_PENDING_FREE;
	LWLockRelease(gpu_shared->handles);
	return pending_free;
}

/*
 * True if nobody needs a request.  Its handle is pending free, so its owner is gone or has
 * finished.  No process waits for a request that needs it for another handle, either.  A
 * request with a waiting backend ends by "abandoned" instead.
 */
bool
GpuIsMoot(const GpuSlot *slot)
{
	return !slot->wait && is_pending_free(slot->handle.index);
}
