/*
 * sketch_ticket.c
 *		A partial state on a device, passed to the combine function by name.
 *
 * The partial state of a parallel worker would go through the tuple queue as
 * a value, tables and all, only to be merged.  (The leader's own state would be copied,
 * too.)  If the state is on a device, the leader becomes its
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

static const TicketMagic magic = { { 'Q', 'S', 'G', '2' } };

Size
GpuTicketSize(void)
{
	return sizeof(Ticket);
}

/*
 * Write a ticket for a remote sketch.  With its first ticket the sketch belongs to
 * whoever redeems that.  Later calls write the same ticket.
 */
void
GpuWriteTicket(const qs_sketch *sk, struct varlena *out)
{
	GpuRemote *remote = sk->remote;

	if (!remote->handed)
	{
		GpuSketchPartial partial = { .params = sk->params, .total = sk->total, .keys = sk->keys };
		GpuShape shape = { 0 };

		memcpy(&shape, &partial, sizeof(partial));
		remote->ticket = TicketDraw();
		GpuHandEntry(&remote->ref, &remote->ticket, &shape);
		remote->handed = true;
	}
	TicketWrite(magic, remote->ticket, out);
}

bool
GpuIsTicket(Datum datum)
{
	return gpu_shared && TicketIs(magic, datum);
}

/* The sketch of a ticket, ours from now on: "sk" is uninitialized. */
void
GpuOpenTicket(Datum datum, qs_sketch *sk, const qb_memory *memory)
{
	TicketNumber ticket = TicketRead(datum);
	GpuSketchPartial partial;
	GpuShape shape;
	GpuRef ref;

	if (!GpuAdoptEntry(GPU_FAMILY_SKETCH, &ticket, &ref, &shape))
		TicketGone();
	memcpy(&partial, &shape, sizeof(partial));
	qs_init(sk, &partial.params, memory);
	sk->total = partial.total;
	sk->keys = partial.keys;
	GpuSketchBecomeRemote(sk, &ref);
}
