/*
 * sketch_ticket.c
 *		A partial state on a device, passed to the combine function by name.
 *
 * The partial state of a parallel worker would go through the tuple queue as
 * a value, tables and all, only to be merged.  If it is on a device its owner
 * becomes the leader, and what goes through the queue is a ticket for it: a
 * varlena that only the combine function understands and that all else
 * refuses as no sketch.  A partial state goes to the combine function and
 * nowhere else, and just once.
 *
 * The leader's own partial state is copied into a tuple, too.  Its ticket is
 * for use while the state itself, which keeps the sketch, is there.
 *
 * src/gpu/sketch_ticket.c
 */
#include "gpu/sketch_gpu.h"
#include "gpu/sketch_remote.h"

#include "access/parallel.h"

static const char magic[4] = { 'Q', 'S', 'G', '1' };

typedef struct Ticket
{
	char length[VARHDRSZ];
	char magic[sizeof(magic)];
	GpuRef ref;
	qs_params params;
	int64 total;
	uint32 family;
	uint32 collation;
	bool borrowed; /* the leader's own */
} Ticket;

Size
GpuTicketSize(void)
{
	return sizeof(Ticket);
}

/* A ticket for a remote sketch, which is handed to the leader if this is not him. */
void
GpuWriteTicket(const qs_sketch *sk, struct varlena *out)
{
	Ticket ticket = { 0 };
	GpuRemote *remote = sk->remote;

	memcpy(ticket.magic, magic, sizeof(magic));
	ticket.ref = remote->ref;
	ticket.params = sk->params;
	ticket.total = sk->total;
	ticket.family = sk->family;
	ticket.collation = sk->collation;
	ticket.borrowed = !IsParallelWorker();
	memcpy(out, &ticket, sizeof(ticket));
	SET_VARSIZE(out, sizeof(ticket));
	if (!ticket.borrowed)
		GpuHandEntryToLeader(&remote->ref);
}

bool
GpuIsTicket(Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) == sizeof(Ticket) - VARHDRSZ &&
		   memcmp(VARDATA_ANY(value), magic, sizeof(magic)) == 0;
}

/*
 * The sketch of a ticket: "sk" is uninitialized.  False if it is borrowed, and
 * may be merged into others only.
 */
bool
GpuOpenTicket(Datum datum, qs_sketch *sk, const qs_memory *memory)
{
	Ticket ticket;

	memcpy((char *) &ticket + VARHDRSZ, VARDATA_ANY(DatumGetPointer(datum)),
		   sizeof(ticket) - VARHDRSZ);
	qs_init(sk, &ticket.params, memory);
	sk->total = ticket.total;
	sk->family = ticket.family;
	sk->collation = ticket.collation;
	if (!GpuAdoptEntry(&ticket.ref))
		elog(ERROR, "sketch of a parallel worker is not there");
	GpuBecomeRemote(sk, &ticket.ref);
	((GpuRemote *) sk->remote)->borrowed = ticket.borrowed;
	return !ticket.borrowed;
}
