/*
 * sketch_ticket.c
 *		A partial state on a device, passed to the combine function by name.
 *
 * The partial state of a parallel worker would go through the tuple queue as
 * a value, tables and all, only to be merged.  (Before PostgreSQL 16 the leader's own
 * state would be copied, too.)  If the state is on a device, the leader becomes its
 * owner instead, and only a ticket for it goes through the queue.
 *
 * A ticket is a value, and values can be kept, copied and shown to others.  So
 * it says nothing but a random number: what it stands for, and for whom, is
 * written next to the entry in shared memory.  Only the leader who was meant
 * (or the worker itself, if states are combined there) can redeem it, once, and
 * while the entry lives: no longer than the leader's transaction.  For all else
 * it is no sketch.  Aggregates that would show their partial states to anything
 * but our combine function get no tickets, but whole sketches (pgbase/recognize.c).
 *
 * src/gpu/sketch_ticket.c
 */
#include "gpu/sketch_gpu.h"
#include "gpu/sketch_remote.h"

static const char magic[4] = { 'Q', 'S', 'G', '2' };

typedef struct Ticket
{
	char length[VARHDRSZ];
	char magic[sizeof(magic)];
	GpuNonce nonce;
} Ticket;

Size
GpuTicketSize(void)
{
	return sizeof(Ticket);
}

static void
draw_nonce(GpuNonce *nonce)
{
	if (!pg_strong_random(nonce, sizeof(*nonce)))
		ereport(ERROR,
				(errcode(ERRCODE_INTERNAL_ERROR), errmsg("could not generate random bytes")));
}

/*
 * Write a ticket for a remote sketch.  With its first ticket the sketch belongs to
 * whoever redeems that.  Later calls write the same ticket.
 */
void
GpuWriteTicket(const qs_sketch *sk, struct varlena *out)
{
	Ticket ticket = { 0 };
	GpuRemote *remote = sk->remote;

	if (!remote->handed)
	{
		GpuSketchPartial partial = { .params = sk->params, .total = sk->total, .keys = sk->keys };
		GpuShape shape = { 0 };

		memcpy(&shape, &partial, sizeof(partial));
		draw_nonce(&remote->nonce);
		GpuHandEntry(&remote->ref, &remote->nonce, &shape);
		remote->handed = true;
	}
	memcpy(ticket.magic, magic, sizeof(magic));
	ticket.nonce = remote->nonce;
	memcpy(out, &ticket, sizeof(ticket));
	SET_VARSIZE(out, sizeof(ticket));
}

bool
GpuIsTicket(Datum datum)
{
	const char *value = DatumGetPointer(datum);

	return gpu_shared && !VARATT_IS_EXTERNAL(value) && !VARATT_IS_COMPRESSED(value) &&
		   VARSIZE_ANY_EXHDR(value) == sizeof(Ticket) - VARHDRSZ &&
		   memcmp(VARDATA_ANY(value), magic, sizeof(magic)) == 0;
}

/* The sketch of a ticket, ours from now on: "sk" is uninitialized. */
void
GpuOpenTicket(Datum datum, qs_sketch *sk, const qb_memory *memory)
{
	Ticket ticket;
	GpuSketchPartial partial;
	GpuShape shape;
	GpuRef ref;

	memcpy((char *) &ticket + VARHDRSZ, VARDATA_ANY(DatumGetPointer(datum)),
		   sizeof(ticket) - VARHDRSZ);
	if (!GpuAdoptEntry(GPU_FAMILY_SKETCH, &ticket.nonce, &ref, &shape))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("partial state of a parallel query is not there"),
						errdetail("It can be used once, by the query that made it.")));
	memcpy(&partial, &shape, sizeof(partial));
	qs_init(sk, &partial.params, memory);
	sk->total = partial.total;
	sk->keys = partial.keys;
	GpuSketchBecomeRemote(sk, &ref);
}
