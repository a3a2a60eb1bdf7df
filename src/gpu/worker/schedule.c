/*
 * schedule.c
 *		Scheduling: which request the GPU worker serves next.
 *
 * The worker takes all requests from the queue into lines, one for each process, in
 * the order of the queue.  The process that has had the least of the worker's time is
 * next.  A process that becomes active gets the virtual time of the last one served, less
 * CREDIT_US: it is served soon, but idle time is not banked.  A long
 * request is served in pieces (GpuHandler): the process of a short one waits for one
 * piece, however many long requests there are.
 *
 * Requests of several processes may name the same handle: cached values that all look up,
 * and values that parallel workers hand to their leader.  A request that reads waits for all
 * earlier ones that change the handle or add to it.  One that adds keys on a device of its own
 * waits for all but those that add.  One that changes the handle waits for all earlier ones.
 * The oldest of all requests never waits for another one.  So somebody is always next, but for requests
 * whose device is still at work for them.
 *
 * Each device is given one piece of a request at a time.  Requests for different devices go on at
 * the same time, also those of one process.  The process that has had the least keeps others from the
 * devices that it waits for.
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
 * So long a request lets others go first while its device is at work for it.  The device is asked at
 * most so often.
 */
#define PATIENCE_US 1000000
#define LOOK_US     40

/* Requests of a line that are looked at, beyond the first one that needs busy devices. */
#define LOOK_AHEAD (2 * GPU_DEVICES_MAX)

/* The credit of a process that comes, or comes back: the time of some pieces. */
#define CREDIT_US 50000

/* The requests of a process: slots, linked by Waiting.next. */
typedef struct Line
{
	int first; /* slot, or NONE: then it is not among the lines that wait */
	int last;
	int next;   /* line that waits, or NONE */
	uint64 had; /* us, by the clock of all lines */
} Line;

/* What a request does to a handle, and which earlier ones it waits for.  Bits: 1 << Access. */
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

/* How many requests for a handle there were so far, and how many are served. */
typedef struct Order
{
	uint32 came[ACCESSES];
	uint32 served[ACCESSES];
} Order;

/* A request that waits or is being served, by its slot. */
typedef struct Waiting
{
	int next;           /* slot of the same line, or NONE */
	bool served;        /* a piece of it is being served */
	TimestampTz ended;  /* when the last piece of it was served */
	TimestampTz looked; /* when its device was found at work for it, since then */
	Order before[2];    /* for its handle and the other: what came before */
} Waiting;

static Line *line; /* of each process */
static Waiting *waiting;
static Order order[GPU_HANDLES];
static int first_line = NONE;
static int requests; /* in all lines */
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

/* The order of the handle that a request names, or NULL: its own (0), the other (1). */
static Order *
order_of(const GpuSlot *slot, int which)
{
	const GpuRef *ref = which == 0 ? &slot->handle : &slot->other;

	return ref->serial != 0 ? &order[ref->index] : NULL;
}

/*
 * A value to which several requests add is not dropped for one that fails: somebody waits for it.
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

/* Are all requests served that it waits for? */
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
 * Has its device done what a piece of it asked for?  After some time it is served all the same: then it,
 * or the request that reads the tables next, waits for the device, and a device that hangs is noticed.
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
	if ((uint64) (now - w->looked) < LOOK_US)
		return false;
	if (handler->is_ready(slot) || (uint64) (now - w->ended) > PATIENCE_US)
		return true;
	w->looked = now;
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

/* A request at the end of its process's line. */
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

/* A request of a line is served. */
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

/* The device that a handle's value is on; all devices if it is on several, or on none yet. */
static uint32
devices_of_handle(const GpuRef *ref)
{
	GpuLocation location = GpuHandlerOf(ref->family)->location(ref->index);

	return location.on_device && location.replicas == 0 ? 1U << location.device : ALL_DEVICES;
}

/*
 * A request that needs no device is served in the coroutine of one that is not taken, if there is
 * one.
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
 * The first request of a line that waits for no other one, nor for what its device does for it, and for
 * none of the devices that are taken; NONE: there is none.  *devices: those that it needs, or if there is
 * none, that the first one needs which waits for devices alone.
 */
static int
first_of(const Line *l, uint32 taken, uint32 *devices)
{
	int looked = 0;
	int i;

	*devices = 0;
	for (i = l->first; i != NONE && looked < LOOK_AHEAD; i = waiting[i].next)
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
		if (looked++ == 0)
			*devices = needed;
		taken |= needed;
	}
	return NONE;
}

/* The line whose request is next; NULL: there is none.  Lines are compared by the time they had. */
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
 * The devices that the line waits for which has had least; 0: it waits for other requests, or for
 * nothing.
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
 * The request to be served next, or a piece of it, on devices that are not busy; NULL if there is
 * none.  *devices says on which.
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

/* A piece of it begins to be served. */
void
GpuBeginScheduled(const GpuSlot *slot)
{
	waiting[GpuSlotIndex(slot)].served = true;
}

/* A request that was to be served together with others was not: it waits again. */
void
GpuLeaveScheduled(const GpuSlot *slot)
{
	waiting[GpuSlotIndex(slot)].served = false;
}

/* May these requests be served together, as far as they tell themselves? */
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
 * May the request be served together with the "joined" ones before it?  One that changes its handle may
 * if no other request for the handle is between them.
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
 * Add to slot[0], which is served now, requests behind it in its line that may be served
 * together with it: changes of the same handle, for which nobody waits, with no request
 * of another process for that handle between them; reads of one part of a value; or additions
 * of keys of chunks on one device, of which those on other devices are skipped.  Returns how many
 * there are with it.
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
 * A piece of a request is served, which took so long; the request leaves its line if that was
 * all.
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
		waiting[index].looked = 0;
		return;
	}
	remove_served(l, index);
	leave(slot);
	GpuReply(slot);
}

/* Is the request that is being served the only one? */
bool
GpuIsAlone(void)
{
	return requests == 1 && GpuIsIdle();
}

/* Is there any that is not served as a whole? */
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
 * Is a request for nobody?  The owner of a handle pending free is gone, or done with it, and so
 * are all who waited for a request that needs it for another handle.  A request with a waiting
 * backend ends by "abandoned" instead.
 */
bool
GpuIsMoot(const GpuSlot *slot)
{
	return !slot->wait && is_pending_free(slot->handle.index);
}
