/*
 * sketch_ask.c
 *		Questions to a sketch whose tables are on a device, and stay there.
 *
 * Fetching the tables of a large sketch takes much longer than an answer: each piece takes
 * a trip to the worker and back, as an answer does.  So the tables stay until questions
 * have taken as many trips as fetching them takes, and are fetched for the next question.
 * All questions together then cost twice as much as the best choice, at most.
 *
 * A sketch that stays rests (shared.h): only a few of a process and of a role do, and it
 * goes to the worker's memory if somebody needs the room.  Then it is fetched for the next
 * question.
 *
 * src/gpu/sketch_ask.c
 */
#include "gpu/client.h"
#include "gpu/sketch_client.h"
#include "gpu/sketch_gpu.h"
#include "gpu/sketch_remote.h"

/* Trips that it takes to fetch the tables. */
static uint64
fetch_trips(const qs_sketch *sk)
{
	return 1 + (qs_dense_size(&sk->params, false) + GPU_SLOT_BYTES - 1) / GPU_SLOT_BYTES;
}

/* Are so many more trips for questions worth it? */
static bool
is_worth_asking(const qs_sketch *sk, uint64 trips)
{
	return GpuRemoteOf(sk)->trips + trips <= fetch_trips(sk);
}

/* Is the sketch on a device, and this process's own? */
static bool
is_there(const qs_sketch *sk)
{
	return sk->remote && !GpuRemoteOf(sk)->handed && !GpuSketchWasEvicted(sk);
}

/* Does the worker confirm the total, and may the sketch rest? */
static bool
goes_to_rest(const qs_sketch *sk)
{
	GpuRemote *remote = GpuRemoteOf(sk);
	int64 total;

	remote->trips++;
	if (GpuSketchTotal(&remote->ref, &total) != QB_OK)
		return false;
	GpuSketchCheckTotal(sk, total);
	remote->resting = GpuRestEntry(&remote->ref);
	return remote->resting;
}

bool
GpuSketchStays(const qs_sketch *sk)
{
	if (!is_there(sk))
		return false;
	return GpuRemoteOf(sk)->resting || (is_worth_asking(sk, 1) && goes_to_rest(sk));
}

/* A batch that would go to a device anyway is always asked for there. */
bool
GpuSketchAsk(const qs_sketch *sk, const uint64 *fingerprint, size_t count, int64 *estimate)
{
	GpuRemote *remote = GpuRemoteOf(sk);
	uint64 trips = (count + GPU_SLOT_KEYS - 1) / GPU_SLOT_KEYS;

	if (!GpuSketchWantsLookup(sk, count))
	{
		if (!is_worth_asking(sk, trips))
			return false;
		remote->trips += trips;
	}
	return GpuAskKeys(&remote->ref, SKETCH_QUERY, fingerprint, count, estimate, sizeof(int64));
}
