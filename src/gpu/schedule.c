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
 * earlier ones that change the handle.  A request that changes the handle waits for all
 * earlier ones.  The oldest of all requests never waits, so somebody is always next.
 *
 * A slot holds few keys for a GPU, whose launches and copies take longer to begin than to
 * end.  So requests of one process that follow one another and change the same handle may be
 * served together, within the time of a piece (GpuTogether()).
 *
 * All of this is the worker's own memory.
 *
 * src/gpu/schedule.c
 */
#include "gpu/worker.h"

#include "utils/memutils.h"

#define NONE (-1)

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

/* How many requests for a handle there were so far, and how many are served. */
typedef struct Order
{
	uint32 came;
	uint32 served;
	uint32 changes_came;
	uint32 changes_served;
} Order;

/* A request that waits, by its slot. */
typedef struct Waiting
{
	int next;        /* slot of the same line, or NONE */
	uint32 after[2]; /* for its handle and the other: what has to be served before */
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

static bool
is_reading(const GpuSlot *slot, int which)
{
	const GpuHandler *handler = GpuHandlerOf(slot->handle.family);

	return (which == 0 ? handler->reads : handler->reads_other) >> slot->op & 1;
}

static void
enter(GpuSlot *slot)
{
	Waiting *w = &waiting[GpuSlotIndex(slot)];
	Order *o;
	int which;

	for (which = 0; which < 2; which++)
		if ((o = order_of(slot, which)) != NULL)
			w->after[which] = is_reading(slot, which) ? o->changes_came : o->came;
	for (which = 0; which < 2; which++)
		if ((o = order_of(slot, which)) != NULL)
		{
			o->came++;
			o->changes_came += !is_reading(slot, which);
		}
}

static bool
may_be_served(const GpuSlot *slot)
{
	const Waiting *w = &waiting[GpuSlotIndex(slot)];
	const Order *o;
	int which;

	for (which = 0; which < 2; which++)
		if ((o = order_of(slot, which)) != NULL &&
			w->after[which] != (is_reading(slot, which) ? o->changes_served : o->served))
			return false;
	return true;
}

static void
leave(const GpuSlot *slot)
{
	Order *o;
	int which;

	for (which = 0; which < 2; which++)
		if ((o = order_of(slot, which)) != NULL)
		{
			o->served++;
			o->changes_served += !is_reading(slot, which);
		}
}

/* ---- lines ---- */

/* A request at the end of its process's line. */
static void
append(GpuSlot *slot)
{
	Line *l = &line[slot->proc];
	int index = GpuSlotIndex(slot);

	waiting[index].next = NONE;
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

/* The first request of a line is served. */
static void
advance(Line *l)
{
	int *link = &first_line;

	l->first = waiting[l->first].next;
	requests--;
	if (l->first != NONE)
		return;
	while (*link != l - line)
		link = &line[*link].next;
	*link = l->next;
}

/* The request to be served next, or a piece of it; NULL if there is none. */
GpuSlot *
GpuNextScheduled(void)
{
	Line *best = NULL;
	int i;

	take_queue();
	for (i = first_line; i != NONE; i = line[i].next)
		if ((best == NULL || line[i].had < best->had) && may_be_served(GpuSlotAt(line[i].first)))
			best = &line[i];
	if (best == NULL)
		return NULL;
	clock_now = Max(clock_now, best->had);
	return GpuSlotAt(best->first);
}

/* May these requests be served together, as far as they tell themselves? */
static bool
is_alike(const GpuSlot *slot, const GpuSlot *first)
{
	return slot->op == first->op && slot->handle.serial == first->handle.serial &&
		   slot->other.serial == 0 && !slot->wait && slot->done == 0;
}

/*
 * Add to slot[0], which is served now, requests behind it in its line that may be served
 * together with it: changes of the same handle, for which nobody waits, with no request
 * of another process for that handle between them.  Returns how many there are with it.
 */
int
GpuTogether(GpuSlot **slot, int most)
{
	const GpuHandler *handler = GpuHandlerOf(slot[0]->handle.family);
	uint32 served = order[slot[0]->handle.index].served;
	int next = waiting[GpuSlotIndex(slot[0])].next;
	int count = 1;

	if (!(handler->together >> slot[0]->op & 1) || !is_alike(slot[0], slot[0]))
		return 1;
	while (count < most && next != NONE && is_alike(GpuSlotAt(next), slot[0]) &&
		   waiting[next].after[0] == served + count)
	{
		slot[count++] = GpuSlotAt(next);
		next = waiting[next].next;
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

	l->had += Max(us, 1);
	if (slot->more)
		return;
	advance(l);
	leave(slot);
	GpuReply(slot);
}

/* Is the request that is being served the only one? */
bool
GpuIsAlone(void)
{
	return requests == 1 && GpuIsIdle();
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
