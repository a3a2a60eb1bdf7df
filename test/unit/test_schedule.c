/*
 * test_schedule.c
 *		The order in which the GPU worker serves requests, compared with the promises of
 *		schedule.c.
 *
 * The tests post random requests of several processes, which are served in pieces.  The
 * code under test is the worker's.  Stand-ins replace the queue, the locks and a family.
 * The requests of this family have these numbers:
 *
 *	0	reads its handle
 *	1	changes its handle; several such requests are served together
 *	2	changes its handle, and reads the other handle
 *	3	changes both handles
 *	4	adds to its handle, on the device of the other handle, which it reads
 *	5	changes its handle; its device may be busy after the first piece
 *
 * test/unit/test_schedule.c
 */
#include "postgres.h"

#undef fprintf
#undef printf
#undef snprintf
#undef vsnprintf

#include "locks.h"
#include "support.h"

#include "gpu/worker/worker.h"
#include "utils/memutils.h"
#include "utils/timestamp.h"

enum
{
	PROCESSES = 7,
	SLOTS = 60,
	ENTRIES = 6,
	RUNS = 300,
	STEPS = 2000
};

typedef struct Request
{
	bool there;
	uint64 born;
	int pieces; /* pieces left to serve */
} Request;

GpuShared *gpu_shared;
MemoryContext TopMemoryContext;
static GpuSlot slots[SLOTS];
static Request request[SLOTS];
static int queue[SLOTS];
static int queued;
static uint64 births;
static int served;
static bool at_work;         /* devices are busy */
static TimestampTz clock_us; /* current time in us */
static uint64 arena[SLOTS * 16];
static size_t arena_used;

/* ---- stand-ins ---- */

void *
MemoryContextAllocZero(MemoryContext context, Size size)
{
	void *memory = arena + arena_used;

	(void) context;
	arena_used += (size + sizeof(*arena) - 1) / sizeof(*arena);
	REQUIRE(arena_used <= ALL_OF(arena));
	return memset(memory, 0, size);
}

/* Handle i is on device i modulo the number of devices. */
static GpuLocation
location_of(int index)
{
	return (GpuLocation){ .device = index % gpu_shared->device_count, .on_device = true };
}

static bool
is_ready(const GpuSlot *slot)
{
	return slot->op != 5 || !at_work;
}

TimestampTz
GetCurrentTimestamp(void)
{
	return clock_us += 100;
}

const GpuHandler *
GpuHandlerOf(GpuFamily family)
{
	static const GpuHandler handler = { .reads = 1 << 0,
										.reads_other = 1 << 2 | 1 << 4,
										.adds = 1 << 4,
										.together = 1 << 1,
										.is_ready = is_ready,
										.location = location_of };

	(void) family;
	return &handler;
}

GpuSlot *
GpuSlotAt(int index)
{
	return &slots[index];
}

int
GpuSlotIndex(const GpuSlot *slot)
{
	return (int) (slot - slots);
}

GpuSlot *
GpuNextRequest(void)
{
	int first = queue[0];

	if (queued == 0)
		return NULL;
	memmove(queue, queue + 1, --queued * sizeof(int));
	return &slots[first];
}

bool
GpuIsIdle(void)
{
	return queued == 0;
}

void
GpuReply(GpuSlot *slot)
{
	request[GpuSlotIndex(slot)].there = false;
	served++;
}

/* ---- requests ---- */

static void
start(void)
{
	memset(request, 0, sizeof(request));
	gpu_shared = calloc(1, sizeof(GpuShared));
	REQUIRE(gpu_shared != NULL);
	gpu_shared->proc_count = PROCESSES;
	gpu_shared->slot_count = SLOTS;
	gpu_shared->device_count = 1;
	queued = served = 0;
	arena_used = 0;
	GpuStartScheduling();
}

static void
finish(void)
{
	free(gpu_shared);
	gpu_shared = NULL;
}

static int
free_slot(void)
{
	int i;

	for (i = 0; i < SLOTS && request[i].there; i++)
		;
	return i;
}

static GpuSlot *
ask(int proc, int op, int handle, int other, int pieces)
{
	int i = free_slot();
	GpuSlot *slot = &slots[i];

	REQUIRE(i < SLOTS);
	memset(slot, 0, sizeof(*slot));
	slot->proc = proc;
	slot->op = op;
	slot->handle = (GpuRef){ .serial = 1 + handle, .index = handle };
	slot->other = (GpuRef){ .serial = op >= 2 && op <= 4 ? 1 + other : 0, .index = other };
	request[i] = (Request){ .there = true, .born = births++, .pieces = pieces };
	queue[queued++] = i;
	return slot;
}

static bool
names(const GpuSlot *slot, int handle)
{
	return slot->handle.index == handle || (slot->other.serial != 0 && slot->other.index == handle);
}

static bool
changes(const GpuSlot *slot, int handle)
{
	return (slot->handle.index == handle && slot->op != 0) ||
		   (slot->op == 3 && slot->other.index == handle);
}

/* True if "earlier" must be served before "slot". */
static bool
is_before(const GpuSlot *earlier, const GpuSlot *slot)
{
	int handle;

	if (earlier->proc == slot->proc)
		return true;
	for (handle = 0; handle < ENTRIES; handle++)
		if (names(earlier, handle) && names(slot, handle) &&
			(changes(earlier, handle) || changes(slot, handle)))
			return true;
	return false;
}

static void
check_scheduled(const GpuSlot *slot)
{
	uint64 born = request[GpuSlotIndex(slot)].born;
	int i;

	REQUIRE(request[GpuSlotIndex(slot)].there);
	for (i = 0; i < SLOTS; i++)
		REQUIRE(!request[i].there || request[i].born >= born || !is_before(&slots[i], slot));
}

/* Returns the request that the worker serves next while no device is busy. */
static GpuSlot *
next_request(void)
{
	uint32 devices;

	return GpuNextScheduled(0, &devices);
}

/* Serve a piece of the next request, which takes "us" microseconds. */
static GpuSlot *
serve(uint64 us)
{
	GpuSlot *slot = next_request();

	if (slot)
	{
		slot->more = --request[GpuSlotIndex(slot)].pieces > 0;
		slot->done++;
		GpuEndScheduled(slot, us);
	}
	return slot;
}

/*
 * Serve up to "most" requests together, as the worker would.  Each of these requests must be a
 * valid next request after its predecessors.  Returns the number of requests that could be
 * served together.  If this number is 0 or 1, no request was served.
 */
static int
serve_together(int most)
{
	GpuSlot *slot[SLOTS] = { next_request() };
	int count = slot[0] ? GpuTogether(slot, most) : 0;
	int i;

	REQUIRE(count <= most);
	for (i = 0; i < count && count > 1; i++)
	{
		REQUIRE(slot[i]->handle.index == slot[0]->handle.index && slot[i]->op == 1);
		REQUIRE(slot[i]->proc == slot[0]->proc && !slot[i]->wait && slot[i]->done == 0);
		check_scheduled(slot[i]);
		slot[i]->more = false;
		GpuEndScheduled(slot[i], i == 0 ? 1000 : 0);
	}
	return count;
}

/* ---- tests ---- */

/* All requests are served, each after the requests on which it depends. */
static void
requests_keep_their_order(void **state)
{
	int groups = 0;
	int run;
	int i;

	(void) state;
	for (run = 0; run < RUNS; run++)
	{
		test_rng rng = test_seeded((uint64) run);
		int asked = 0;

		WHERE("run %d", run);
		start();
		for (i = 0; i < STEPS || served < asked; i++)
		{
			if (i < STEPS && free_slot() < SLOTS && test_below(&rng, 2))
			{
				int proc = (int) test_below(&rng, PROCESSES);

				if (test_below(&rng, 2))
					ask(proc, 1, proc % ENTRIES, 0, 1);
				else
					ask(proc, (int) test_below(&rng, 4), (int) test_below(&rng, ENTRIES),
						(int) test_below(&rng, ENTRIES), 1 + (int) test_below(&rng, 4));
				asked++;
			}
			else if (served < asked)
			{
				GpuSlot *slot;

				if (test_below(&rng, 2) && serve_together(1 + (int) test_below(&rng, 5)) > 1)
				{
					groups++;
					continue;
				}
				slot = next_request();
				REQUIRE(slot != NULL);
				check_scheduled(slot);
				REQUIRE(serve(test_below(&rng, 30000)) == slot);
			}
		}
		REQUIRE(next_request() == NULL);
		finish();
	}
	REQUIRE(groups > RUNS);
}

/*
 * Changes of one handle are served together.  The group ends before a request for which a
 * process waits, and before a request of another process.
 */
static void
changes_of_one_entry_go_together(void **state)
{
	GpuSlot *slot[SLOTS];
	int i;

	(void) state;
	start();
	for (i = 0; i < 8; i++)
		slot[i] = ask(0, 1, 0, 0, 1);
	REQUIRE(next_request() == slot[0]);
	REQUIRE(GpuTogether(slot, 5) == 5 && GpuTogether(slot, SLOTS) == 8);
	slot[3]->wait = true;
	REQUIRE(GpuTogether(slot, SLOTS) == 3);
	slot[3]->wait = false;
	ask(1, 0, 0, 0, 1); /* another process reads the handle after these changes */
	slot[8] = ask(0, 1, 0, 0, 1);
	ask(0, 1, 1, 0, 1);
	REQUIRE(next_request() == slot[0]);
	REQUIRE(GpuTogether(slot, SLOTS) == 8);
	slot[0]->done = 1; /* the first piece of the request was served */
	REQUIRE(GpuTogether(slot, SLOTS) == 1);
	while (serve(1))
		;
	finish();
}

/*
 * A process with short requests waits at most for the piece that is being served, whatever
 * other processes request.
 */
static void
short_requests_are_next(void **state)
{
	uint64 waited = 0;
	int round;
	int i;

	(void) state;
	start();
	for (i = 0; i < 5 * (PROCESSES - 1); i++)
		ask(i % (PROCESSES - 1), 1, i % (PROCESSES - 1) % ENTRIES, 0, 1000000);
	for (round = 0; round < 1000; round++)
	{
		const GpuSlot *slot;

		(void) serve(20000);
		slot = ask(PROCESSES - 1, 0, ENTRIES, 0, 1);
		while (serve(slot == next_request() ? 100 : 20000) != slot)
			waited++;
	}
	REQUIRE(waited <= 4 * PROCESSES); /* at first no process has used more time than another */
	for (i = 0; i < SLOTS; i++)
		request[i].pieces = 1;
	while (serve(1))
		;
	finish();
}

static GpuSlot *
ask_to_add(int proc, int handle, int chunk)
{
	GpuSlot *slot = ask(proc, 4, handle, chunk, 1);

	slot->wait = true;
	return slot;
}

/* Begin to serve the next request.  Check that it uses the expected devices, and mark them busy. */
static GpuSlot *
begin_next(uint32 *busy, uint32 expected)
{
	uint32 devices;
	GpuSlot *slot = GpuNextScheduled(*busy, &devices);

	REQUIRE(slot && devices == expected);
	GpuBeginScheduled(slot);
	*busy |= devices;
	return slot;
}

/*
 * Requests of one process that add to one value are served on several devices at the same time.
 * A reader of the value waits for all of these requests.
 */
static void
devices_work_at_the_same_time(void **state)
{
	GpuSlot *slot[4];
	uint32 busy = 0;
	uint32 devices;

	(void) state;
	start();
	gpu_shared->device_count = 2;
	slot[0] = ask_to_add(0, 0, 2);
	slot[1] = ask_to_add(0, 0, 4);
	slot[2] = ask_to_add(0, 0, 3);
	slot[3] = ask(0, 0, 0, 0, 1);
	REQUIRE(begin_next(&busy, 1 << 0) == slot[0]);
	REQUIRE(begin_next(&busy, 1 << 1) == slot[2]);
	REQUIRE(GpuNextScheduled(busy, &devices) == NULL);
	GpuEndScheduled(slot[2], 1);
	REQUIRE(GpuNextScheduled(1 << 0, &devices) == NULL);
	slot[0]->more = true;
	GpuEndScheduled(slot[0], 1);
	busy = 0;
	REQUIRE(begin_next(&busy, 1 << 0) == slot[0]);
	slot[0]->more = false;
	GpuEndScheduled(slot[0], 1);
	busy = 0;
	REQUIRE(begin_next(&busy, 1 << 0) == slot[1]);
	GpuEndScheduled(slot[1], 1);
	busy = 0;
	REQUIRE(begin_next(&busy, 1 << 0) == slot[3]);
	GpuEndScheduled(slot[3], 1);
	finish();
}

/* Requests for one device do not delay a request for several devices indefinitely. */
static void
devices_are_kept_for_who_had_least(void **state)
{
	GpuSlot *first;
	GpuSlot *both;
	uint32 busy = 0;
	uint32 devices;

	(void) state;
	start();
	gpu_shared->device_count = 2;
	first = ask_to_add(0, 0, 2);
	ask_to_add(0, 0, 3);
	REQUIRE(begin_next(&busy, 1 << 0) == first);
	GpuEndScheduled(first, 60000);
	first = ask_to_add(0, 0, 2);
	busy = 0;
	(void) begin_next(&busy, 1 << 1);
	both = ask(1, 3, 4, 5, 1);
	REQUIRE(GpuNextScheduled(busy, &devices) == NULL);
	REQUIRE(GpuNextScheduled(0, &devices) == both && devices == 3);
	REQUIRE(first->proc == 0);
	finish();
}

/*
 * While a device works for a request, other requests are served first, unless they depend on
 * this request.
 */
static void
others_go_first_while_a_device_is_at_work(void **state)
{
	GpuSlot *slow;
	GpuSlot *reader;
	GpuSlot *other;

	(void) state;
	start();
	at_work = true;
	slow = ask(0, 5, 0, 0, 3);
	REQUIRE(serve(1) == slow && slow->more);
	REQUIRE(next_request() == NULL && GpuHasRequests());
	reader = ask(1, 0, 0, 0, 1);
	REQUIRE(next_request() == NULL);
	other = ask(2, 1, 1, 0, 1);
	ask(2, 1, 1, 0, 1);
	REQUIRE(serve(60000) == other);
	REQUIRE(next_request()->proc == 2); /* although proc 2 has used more time than proc 0 */
	at_work = false;
	REQUIRE(serve(1) == slow && slow->more);
	at_work = true;
	(void) serve(1);
	REQUIRE(next_request() == NULL);
	clock_us += 2000000; /* after more than 1 s the worker waits for the device */
	REQUIRE(serve(1) == slow && !slow->more);
	REQUIRE(serve(1) == reader && !GpuHasRequests());
	at_work = false;
	finish();
}

static GpuSlot *
post(int handle)
{
	return ask(0, 1, handle, 0, 1);
}

/* Keys for a dropped value are not inserted, unless a process waits for the request. */
static void
requests_for_nobody_are_moot(void **state)
{
	GpuSlot *slot;

	(void) state;
	start();
	slot = post(0);
	REQUIRE(!GpuIsMoot(slot));
	gpu_shared->handle[0].state = HANDLE_PENDING_FREE;
	REQUIRE(GpuIsMoot(slot));
	slot->wait = true;
	REQUIRE(!GpuIsMoot(slot));
	finish();
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_keep_their_order),
		cmocka_unit_test(changes_of_one_entry_go_together),
		cmocka_unit_test(short_requests_are_next),
		cmocka_unit_test(requests_for_nobody_are_moot),
		cmocka_unit_test(devices_work_at_the_same_time),
		cmocka_unit_test(others_go_first_while_a_device_is_at_work),
		cmocka_unit_test(devices_are_kept_for_who_had_least), /* leaves requests in the queue */
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
