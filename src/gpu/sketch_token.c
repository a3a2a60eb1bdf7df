/*
 * sketch_token.c
 *		A partial state on a device, passed to the combine function by name.
 *
 * Without a token, the partial state of a parallel worker would go through the tuple queue
 * with all of its tables, only to be merged.  (The leader's own state would be copied, too.)
 * If the state is on a device, the leader becomes its owner instead, and only a token for it
 * goes through the queue.
 *
 * A token is a value, and values can be kept, copied and shown to others.  So a token has
 * nothing but a random number.  Which sketch it stands for, and which process may have it, is
 * written next to the handle in shared memory.  Only that leader (or the parallel worker
 * itself, if states are combined there) can redeem it.  It can do so once, and only while the
 * handle exists, at most until the end of the leader's transaction.  For any other function
 * it is no valid sketch.  Aggregates that would show their partial states to anything but our
 * combine function get no tokens, but whole sketches (pgbase/aggregate.c).
 *
 * src/gpu/sketch_token.c
 */
#include "gpu/sketch_gpu.h"

static const TokenMagic magic = { { 'Q', 'S', 'G', '2' } };

Size
GpuTokenSize(void)
{
	return sizeof(Token);
}

/*
 * Write a token for a remote sketch.  From the first token on, the sketch belongs to the
 * process that redeems it.  Later calls write the same token.
 */
void
GpuWriteToken(const qs_sketch *sk, struct varlena *out)
{
	GpuRemote *remote = sk->remote;

	if (!remote->in_transfer)
	{
		GpuSketchPartial partial = { .params = sk->params, .total = sk->total, .keys = sk->keys };
		GpuShape shape = { 0 };

		memcpy(&shape, &partial, sizeof(partial));
		remote->token = TokenDraw();
		GpuTransferHandle(&remote->handle.ref, &remote->token, &shape);
		remote->in_transfer = true;
	}
	TokenWrite(magic, remote->token, out);
}

bool
GpuIsToken(Datum datum)
{
	return gpu_shared && TokenIs(magic, datum);
}

/* Take over the sketch of a token into "sk", which is uninitialized. */
void
GpuOpenToken(Datum datum, qs_sketch *sk, const qb_memory *memory)
{
	TokenNumber token = TokenRead(datum);
	GpuSketchPartial partial;
	GpuShape shape;
	GpuRef ref;

	if (!GpuReceiveHandle(GPU_FAMILY_SKETCH, &token, &ref, &shape))
		TokenGone();
	memcpy(&partial, &shape, sizeof(partial));
	qs_init(sk, &partial.params, memory);
	sk->total = partial.total;
	sk->keys = partial.keys;
	GpuSketchBecomeRemote(sk, &ref);
}
