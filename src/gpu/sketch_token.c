/*
 * sketch_token.c
 *		A partial state on a device, passed to the combine function by name.
 *
 * Without a token, all tables of a parallel worker's partial state would pass through the tuple
 * queue, only to be merged.  The leader's own state would be copied, too.  If the state is on a
 * device, the leader becomes its owner instead, and only a token passes through the queue.
 *
 * A token is a value, which users could store, copy and show.  Therefore, a token contains only a
 * random number.  The handle in shared memory records the token, and the process that may redeem
 * it.  This process is the leader, or the parallel worker itself if the worker combines states.
 * The token can be redeemed once, while the handle exists.  The handle exists at most until the
 * end of the leader's transaction.  Only our combine function accepts a token.  For all other
 * functions, a token is an invalid sketch.  Some aggregates pass their partial states to functions
 * other than our combine function.  These aggregates pass whole sketches instead of tokens
 * (pgbase/aggregate.c).
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
 * Write a token for a remote sketch.  After the first call, the sketch belongs to the process that
 * redeems the token.  Later calls write the same token.
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

/* Receive the sketch of a token into "sk", which is uninitialized. */
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
