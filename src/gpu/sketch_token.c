/*
 * sketch_token.c
 *		A partial state on a device, passed to the combine function by name.
 *
 * The partial state of a parallel worker would go through the tuple queue as
 * a value, tables and all, only to be merged.  (The leader's own state would be copied,
 * too.)  If the state is on a device, the leader becomes its
 * owner instead, and only a token for it goes through the queue.
 *
 * A token is a value, and values can be kept, copied and shown to others.  So
 * it says nothing but a random number: what it stands for, and for whom, is
 * written next to the handle in shared memory.  Only the leader who was meant
 * (or the worker itself, if states are combined there) can redeem it, once, and
 * while the handle lives: no longer than the leader's transaction.  For all else
 * it is no sketch.  Aggregates that would show their partial states to anything
 * but our combine function get no tokens, but whole sketches (pgbase/aggregate.c).
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
 * Write a token for a remote sketch.  With its first token the sketch belongs to
 * whoever redeems that.  Later calls write the same token.
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
		GpuTransferHandle(&remote->owned.ref, &remote->token, &shape);
		remote->in_transfer = true;
	}
	TokenWrite(magic, remote->token, out);
}

bool
GpuIsToken(Datum datum)
{
	return gpu_shared && TokenIs(magic, datum);
}

/* The sketch of a token, ours from now on: "sk" is uninitialized. */
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
