/*
 * schedule.c
 *		Chooses the request that the GPU worker serves next.
 *
 * The worker moves all requests from the queue into lines, one line for each process, in the order
 * of the queue.  The process that has used the least worker time is served next.  When a process
 * becomes active, its used time becomes at least clock_now less CREDIT_US.  clock_now is the
 * greatest used time that any process had when it was chosen.  So the process is served soon, but
 * cannot save up idle time.  A long request is served in pieces (GpuHandler).  So a short request
 * waits for one piece, however many long requests there are.
 *
 * Requests of several processes may name the same handle.  Examples are cached values in which
 * several processes look up keys, and values that parallel workers transfer to their leader.  A
 * request that reads the handle waits for all earlier requests that change it or add keys.  A
 * request that adds keys on one device waits for all earlier requests that read or change the
 * handle.  A request that changes the handle waits for all earlier requests.  The oldest request
 * never waits for another request.  So one request can always be served, unless devices are still
 * at work for all requests.
 *
 * Each device serves one piece of a request at a time.  Requests for different devices are served
 * at the same time, even if they belong to one process.  If the process with the least time waits
 * for devices, no other process can use these devices.
 *
 * The keys in a slot are few for a GPU: a launch or a copy takes longer to begin than to run.  So
 * several requests of one process may be served together, within the time of a piece
 * (GpuTogether()).  There are two types of such requests.  Requests of the first type follow one
 * another, and change the same handle or copy from it.  Requests of the second type add keys of
 * chunks on one device to the same handle.  Other requests that add keys may be between requests of
 * the second type.
 *
 * All data of this file are in the worker's own memory.
 *
 * src/gpu/worker/schedule.c
 */
#include "gpu/worker/worker.h"

#include "utils/memutils.h"
#include "utils/timestamp.h"

#define NONE (-1)

#define ALL_DEVICES ((1U << gpu_shared->device_count) - 1)

/*
 * While a device works for a request, other requests are served first, for PATIENCE_US at most.
 * The device is checked at most once in CHECK_US.
 */
#define PATIENCE_US 1000000
#define CHECK_US    40

/* Maximum number of requests with busy devices that are examined in a line. */
#define EXAMINE_MAX (2 * GPU_DEVICES_MAX)

/* The worker time in us that a process is credited when it becomes active. */
#define CREDIT_US 50000

/* The requests of a process: a list of slots that are linked by Waiting.next. */
typedef struct Line
{
	int first; /* first slot; NONE: the line has no requests, and is not in the list of lines */
	int last;
	int next;   /* next line with requests, or NONE */
	uint64 had; /* worker time that the process has used, in us */
} Line;

/*
 * The effect of a request on a handle.  waits_for[] says for which earlier requests the request
 * waits (bits: 1 << Access).
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

/* For a handle: came[a] requests with Access a have arrived, and served[a] of them were served. */
typedef struct Order
{
	uint32 came[ACCESSES];
	uint32 served[ACCESSES];
} Order;

/* A request that waits or is being served.  The array is indexed by the number of the slot. */
typedef struct Waiting
{
	int next;            /* next slot of the same line, or NONE */
	bool served;         /* a piece of the request is being served */
	TimestampTz ended;   /* time when the last piece was served */
	TimestampTz checked; /* time of the last check that found the device still at work */
	Order before[2]; /* counts for its handle and for its other handle, when the request arrived */
} Waiting;

static Line *line; /* one for each process */
static Waiting *waiting;
static Order order[GPU_HANDLES];
static int first_line = NONE;
static int requests; /* number of requests in all lines */
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
 * The counts for the request's own handle ("which" is 0), or for its other handle ("which" is 1);
 * NULL: the request names no other handle.
 */
static Order *
order_of(const GpuSlot *slot, int which)
{
	const GpuRef *ref = which == 0 ? &slot->handle : &slot->other;

	return ref->serial != 0 ? &order[ref->index] : NULL;
}

/*
 * True if the request adds keys and a process waits for the reply.  A failure of this request does
 * not make the value LOST, unless the device fails.  Therefore such requests may be served in any
 * order among themselves.
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

/* True if all earlier requests for which this request waits have been served. */
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
 * True if the device has finished the work that the last piece of the request started.  After
 * PATIENCE_US, the function returns true in any case.  The next piece then waits for the device,
 * so that the worker notices a device that hangs.
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

/* Remove a request from its line after it was served. */
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

/*
 * The device of a handle's value; all devices if the value is on several devices, or not on a
 * device yet.
 */
static uint32
devices_of_handle(const GpuRef *ref)
{
	GpuLocation location = GpuHandlerOf(ref->family)->location(ref->index);

	return location.on_device && location.replicas == 0 ? 1U << location.device : ALL_DEVICES;
}

/*
 * The device whose coroutine serves a request that needs no device: any device that is not taken,
 * or device 0 if all devices are taken.
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
 * Find the first request of a line that can be served now; NONE: no such request.  The request
 * waits for no other request, the device has finished the request's last piece, and none of the
 * request's devices is in "taken" or needed by an earlier request of the line.  The search ends at
 * a request that waits for another request or for its last piece.  *devices becomes the devices
 * that the request needs.  With NONE, *devices becomes the devices of the first request that waits
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
 * The line with the least used time, among the lines with a request that can be served now; NULL:
 * no such line.
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
 * The devices for which the line with the least time waits; 0: this line waits for no devices.
 * Lines that wait only for other requests are left out.
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
 * Return the request whose next piece is served, on devices that are not busy; NULL: no such
 * request.  *devices becomes the devices that the request needs.
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

/* Note that the worker begins a piece of a request. */
void
GpuBeginScheduled(const GpuSlot *slot)
{
	waiting[GpuSlotIndex(slot)].served = true;
}

/* Note that a request waits again, because it could not be served together with other requests. */
void
GpuLeaveScheduled(const GpuSlot *slot)
{
	waiting[GpuSlotIndex(slot)].served = false;
}

/* True if two requests can be served together, provided that may_join() allows it. */
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
 * True if this request can be served together with the "joined" requests before it, because all
 * other requests for which it waits have been served.  Between requests that change a handle, no
 * other request for the handle is allowed.
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
 * Append to slot[] the later requests of the same line that can be served together with slot[0].
 * Returns the number of requests, including slot[0].  The requests are all of one kind:
 *	- changes of one handle, if no backend waits for a reply, and no other request for the handle is
 *	  between the changes
 *	- reads from one partition of a value
 *	- additions of keys of chunks on one device to one handle; other additions are skipped
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
 * End a piece of a request, which took "us" microseconds.  After the last piece, the request
 * leaves its line, and the backend is woken.
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

/* True if the request that is being served is the only request. */
bool
GpuIsAlone(void)
{
	return requests == 1 && GpuIsIdle();
}

/* True if a line has requests.  Requests in the queue do not count. */
bool
GpuHasRequests(void)
{
	return requests > 0;
}

/* ---- requests that are no longer needed ---- */

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
 * True if no process needs a request.  Its handle is pending free, so its owner is gone or has
 * finished.  No backend waits for the reply.  A request with a waiting backend ends by "abandoned"
 * instead.
 */
bool
GpuIsMoot(const GpuSlot *slot)
{
	return !slot->wait && is_pending_free(slot->handle.index);
}
