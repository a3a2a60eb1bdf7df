/*
 * pass.c
 *		Partial sketches passed between the processes of a parallel query.
 *
 * A worker's result goes to the leader through a queue of 64 kB, piece by
 * piece.  A sketch of 1 MB goes faster through the shared memory that the
 * executor gives to the nodes of a parallel plan: its serialized bytes are
 * written there, and what goes through the queue is a ticket, a varlena that
 * only the combine function understands and that all else refuses as no
 * sketch.  The memory is freed when the ticket is redeemed, at the latest with
 * the query.
 *
 * A process maps that memory where it likes, so a ticket names it by the
 * number that the leader gave it.
 *
 * src/pg/pass.c
 */
#include "pg/pass.h"

#include <sys/statvfs.h>

#include "storage/dsm_impl.h"
#include "utils/memutils.h"
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

static const char magic[4] = { 'Q', 'S', 'P', '1' };

typedef struct Ticket
{
	char length[VARHDRSZ];
	char magic[sizeof(magic)];
	uint64 area_name;
	dsa_pointer bytes;
} Ticket;

/* The memory of the queries that this process leads. */
typedef struct NamedArea
{
	uint64 name;
	dsa_area *area;
	struct NamedArea *next;
	MemoryContextCallback forget;
} NamedArea;

static NamedArea *areas;

static void
forget_area(void *named)
{
	NamedArea **link = &areas;

	while (*link != named)
		link = &(*link)->next;
	*link = (*link)->next;
}

/* Name a query's memory, in its leader, until the query's context is gone. */
uint64
PassArea(dsa_area *area, MemoryContext query)
{
	static uint64 last_name;
	NamedArea *named = MemoryContextAlloc(query, sizeof(NamedArea));

	named->name = ++last_name;
	named->area = area;
	named->next = areas;
	named->forget.func = forget_area;
	named->forget.arg = named;
	areas = named;
	MemoryContextRegisterResetCallback(query, &named->forget);
	return named->name;
}

static dsa_area *
area_of(uint64 name)
{
	NamedArea *named = areas;

	while (named && named->name != name)
		named = named->next;
	if (named == NULL)
		elog(ERROR, "ticket of a sketch is not of this query");
	return named->area;
}

/*
 * Will the system give that much?  PostgreSQL raises an error if it does not,
 * and containers often have no more than 64 MB of shared memory.
 */
static bool
has_room(Size bytes)
{
#ifdef USE_DSM_POSIX
	struct statvfs fs;

	if (dynamic_shared_memory_type == DSM_IMPL_POSIX && statvfs("/dev/shm", &fs) == 0 &&
		fs.f_blocks > 0)
		return (uint64) fs.f_bavail * fs.f_frsize > 2 * (uint64) bytes;
#endif
	return true;
}

/* Copy a sketch into shared memory; InvalidDsaPointer if there is no room. */
dsa_pointer
PassPut(dsa_area *area, const qs_sketch *sk)
{
	Size size = SketchFlatSize(sk);
	dsa_pointer bytes = InvalidDsaPointer;

	if (has_room(size))
		bytes = dsa_allocate_extended(area, size, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
	if (DsaPointerIsValid(bytes))
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

/* Written in the current context. */
Datum
PassTicket(uint64 area_name, dsa_pointer bytes)
{
	Ticket *ticket = palloc0(sizeof(Ticket));

	SET_VARSIZE(ticket, sizeof(Ticket));
	memcpy(ticket->magic, magic, sizeof(magic));
	ticket->area_name = area_name;
	ticket->bytes = bytes;
	return PointerGetDatum(ticket);
}

bool
PassIsTicket(Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) == sizeof(Ticket) - VARHDRSZ &&
		   memcmp(VARDATA_ANY(value), magic, sizeof(magic)) == 0;
}

/* Open the sketch of a ticket, in the leader; free it afterwards. */
void
PassRedeem(PassedSketch *passed, Datum ticket)
{
	Ticket copy;

	memcpy((char *) &copy + VARHDRSZ, VARDATA_ANY(DatumGetPointer(ticket)),
		   sizeof(copy) - VARHDRSZ);
	PassGet(passed, area_of(copy.area_name), copy.bytes);
}
