/*
 * pass.c
 *		Partial sketches passed between the processes of a parallel query.
 *
 * A worker's result goes to the leader through a queue of 64 kB, piece by
 * piece.  A large sketch goes faster through the shared memory that Gather
 * gives to the nodes below it: its serialized bytes are written there, and
 * what goes through the queue is a ticket, a varlena that only the combine
 * function understands and that all else refuses as no sketch.  The memory is
 * freed when the ticket is redeemed, at the latest with the query.
 *
 * Each process maps that memory where it likes, and only Gather knows where
 * its leader has it.  So a ticket names the plan node that made it, and the
 * leader looks for the Gather above that node.  If there is none on the way,
 * the states were combined in the worker that made them.
 *
 * src/pg/pass.c
 */
#include "pg/pass.h"

#include <sys/statvfs.h>

#include "executor/execParallel.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "storage/dsm_impl.h"

/* How much larger than what is asked of them segments may be. */
#define SEGMENT_SLACK 3

static const char magic[4] = { 'Q', 'S', 'P', '1' };

typedef struct Ticket
{
	char length[VARHDRSZ];
	char magic[sizeof(magic)];
	int32 from; /* plan_node_id */
	dsa_pointer bytes;
} Ticket;

/*
 * Will the system give so many bytes to each process of a parallel plan, at the
 * same time and in segments that grow?  PostgreSQL raises an error if it does
 * not, and containers often have no more than 64 MB of shared memory.
 */
bool
PassHasRoom(Size bytes)
{
#ifdef USE_DSM_POSIX
	uint64 all = SEGMENT_SLACK * (uint64) bytes * (max_parallel_workers_per_gather + 2);
	struct statvfs fs;

	if (dynamic_shared_memory_type == DSM_IMPL_POSIX && statvfs("/dev/shm", &fs) == 0 &&
		fs.f_blocks > 0)
		return (uint64) fs.f_bavail * fs.f_frsize > all;
#endif
	return true;
}

/* Copy a sketch of this flat size, for which there is room. */
dsa_pointer
PassPut(dsa_area *area, const qs_sketch *sk, Size size)
{
	dsa_pointer bytes = dsa_allocate_extended(area, size, DSA_ALLOC_HUGE);

	SketchWrite(sk, dsa_get_address(area, bytes), size);
	return bytes;
}

void
PassGet(PassedSketch *passed, dsa_area *area, dsa_pointer bytes)
{
	passed->area = area;
	passed->bytes = bytes;
	SketchOpen(&passed->view, dsa_get_address(area, bytes));
}

void
PassFree(PassedSketch *passed)
{
	dsa_free(passed->area, passed->bytes);
}

Size
PassTicketSize(void)
{
	return sizeof(Ticket);
}

/* The ticket of a sketch that "from", a node below a Gather, has put. */
void
PassWriteTicket(struct varlena *out, dsa_pointer bytes, const PlanState *from)
{
	Ticket ticket = { .from = from->plan->plan_node_id, .bytes = bytes };

	memcpy(ticket.magic, magic, sizeof(magic));
	memcpy(out, &ticket, sizeof(ticket));
	SET_VARSIZE(out, sizeof(ticket));
}

bool
PassIsTicket(Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) == sizeof(Ticket) - VARHDRSZ &&
		   memcmp(VARDATA_ANY(value), magic, sizeof(magic)) == 0;
}

/* A search for a node, and the memory of the last Gather on the way to it. */
typedef struct Search
{
	int node;
	dsa_area *area;
} Search;

static bool
find_node(PlanState *state, void *context)
{
	Search *search = context;
	dsa_area *above = search->area;
	ParallelExecutorInfo *pei = IsA(state, GatherState)        ? ((GatherState *) state)->pei
								: IsA(state, GatherMergeState) ? ((GatherMergeState *) state)->pei
															   : NULL;

	if (pei)
		search->area = pei->area;
	if (state->plan->plan_node_id == search->node ||
		planstate_tree_walker(state, find_node, search))
		return true;
	search->area = above;
	return false;
}

/* Open the sketch of a ticket that came to "to"; to be freed. */
void
PassRedeem(PassedSketch *passed, Datum ticket, PlanState *to)
{
	Ticket copy;
	Search search = { .area = to->state->es_query_dsa };

	memcpy((char *) &copy + VARHDRSZ, VARDATA_ANY(DatumGetPointer(ticket)),
		   sizeof(copy) - VARHDRSZ);
	search.node = copy.from;
	if (!find_node(to, &search) || search.area == NULL)
		elog(ERROR, "sketch of a parallel worker is not there");
	PassGet(passed, search.area, copy.bytes);
}
