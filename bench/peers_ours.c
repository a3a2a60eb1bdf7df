/*
 * peers_ours.c
 *		thread, multilevel and qtop behind the interface of the compared structures.
 *
 * thread is Count-Min.  multilevel adds high buckets when counters overflow.  So the keys determine
 * how many low buckets leave enough bytes for high buckets.  A search with the keys and their
 * weights finds nearly the largest number of low buckets.  The bytes of both tables count.
 *
 * qtop has a list and a sketch of depth 3, multilevel or thread.  The list is for the requested
 * number of keys, or for fewer keys, so that stored entries take at most a quarter of the bytes.
 * The bytes of tables and stored entries count, as in a stored qtop.  While a qtop is built, it has
 * up to twice the number of entries, of 48 bytes instead of 24.
 *
 * bench/peers_ours.c
 */
#include <math.h>
#include <stdlib.h>

#include "engine/sketch_engine.h"
#include "peers.h"
#include "sketch/format.h"
#include "sketch/top.h"

#define TRIES 8

typedef struct ours
{
	qs_sketch sketch;
	qs_top top;     /* list of a qtop */
	qs_noise noise; /* noise of unbiased estimates */
} ours;

/* ---- sketches ---- */

static uint64_t
sketch_bytes(const qs_sketch *sk)
{
	uint64_t bytes = qs_table_bytes(&sk->params, sk->wide);

	if (sk->params.structure == QS_MULTILEVEL)
		bytes += sk->ops->live_extra(sk) * qs_extra_bytes(&sk->params, sk->wide);
	return bytes;
}

static uint64_t
bytes(const void *peer)
{
	return sketch_bytes(&((const ours *) peer)->sketch);
}

static void
init_dense(qs_sketch *sk, int structure, uint32_t depth, uint64_t bytes, uint64_t seed)
{
	qs_params p;

	bench_check(qs_params_make(&p, &(qs_choice){ .structure = structure,
												 .size = bytes,
												 .depth = depth,
												 .z = 8,
												 .masks = 1024,
												 .seed = seed }));
	qs_init(sk, &p, &bench_memory);
	sk->keys.family = 1; /* any number but 0, which marks a sketch without keys */
	bench_check(qs_make_dense(sk));
}

/* True if a sketch with "low" bytes of low buckets takes at most "most" bytes. */
static bool
fits(const peer_order *order, uint32_t depth, uint64_t low, uint64_t most)
{
	const stream *s = order->input;
	qs_sketch sk;
	bool ok;

	init_dense(&sk, QS_MULTILEVEL, depth, low, order->seed);
	bench_check(qs_engine_cpu.insert(&sk, s->key, s->count, s->keys));
	ok = sketch_bytes(&sk) <= most;
	qs_free(&sk);
	return ok;
}

/* Return the bytes of low buckets with which low and high buckets take at most "most" bytes. */
static uint64_t
low_bytes(const peer_order *order, uint32_t depth, uint64_t most)
{
	uint64_t low =
		most / 5; /* fits even if each low bucket has a high bucket, which is four times as large */
	uint64_t high = most;
	int i;

	if (fits(order, depth, most, most))
		return most;
	for (i = 0; i < TRIES; i++)
	{
		uint64_t middle = (low + high) / 2;

		if (fits(order, depth, middle, most))
			low = middle;
		else
			high = middle;
	}
	return low;
}

static void *
make_thread(const peer_kind *kind, const peer_order *order)
{
	ours *o = bench_alloc(1, sizeof(*o));

	init_dense(&o->sketch, QS_THREAD, kind->depth, order->bytes, order->seed);
	return o;
}

static void *
make_multilevel(const peer_kind *kind, const peer_order *order)
{
	ours *o = bench_alloc(1, sizeof(*o));

	init_dense(&o->sketch, QS_MULTILEVEL, kind->depth,
			   order->low ? order->bytes : low_bytes(order, kind->depth, order->bytes),
			   order->seed);
	return o;
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	bench_check(qs_engine_cpu.insert(&((ours *) peer)->sketch, key, weight, count));
}

static void
merge(void *into, const void *from)
{
	bench_check(qs_engine_cpu.merge(&((ours *) into)->sketch, &((const ours *) from)->sketch));
}

static uint8_t *
write_sketch(void *peer, size_t *size)
{
	const qs_sketch *sk = &((const ours *) peer)->sketch;
	qs_flat flat = qs_flat_of(sk);
	uint8_t *out = bench_alloc(flat.bytes, 1);

	qs_write_flat(sk, &flat, out);
	*size = flat.bytes;
	return out;
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	return qs_estimate(&((const ours *) peer)->sketch, key);
}

static void
release(void *peer)
{
	ours *o = peer;

	qs_free(&o->sketch);
	free(o);
}

#define OURS(what, counters, maker)                                                       \
	.name = what, .merges = "yes", .weights = "yes", .removes = "yes", .depth = counters, \
	.make = maker, .add = add, .merge = merge, .bytes = bytes, .write = write_sketch,     \
	.compact = true

#define SKETCH(what, counters, maker) \
	OURS(what, counters, maker), .estimate = estimate, .free = release

const peer_kind peer_thread = { SKETCH("thread (Count-Min)", 3, make_thread) };
const peer_kind peer_multilevel_3 = { SKETCH("multilevel", 3, make_multilevel) };
const peer_kind peer_multilevel_4 = { SKETCH("multilevel, depth 4", 4, make_multilevel) };
const peer_kind peer_multilevel_5 = { SKETCH("multilevel, depth 5", 5, make_multilevel) };

/* ---- unbiased estimates ---- */

static void
measure_noise(void *peer)
{
	ours *o = peer;

	bench_check(qs_noise_init(&o->noise, &o->sketch, 1, &bench_memory));
}

static int64_t
estimate_unbiased(const void *peer, uint64_t key)
{
	const ours *o = peer;
	double told = qs_estimate_unbiased(&o->sketch, &o->noise, key);

	return llround(fmin(fmax(told, 0), (double) estimate(peer, key)));
}

static void
release_unbiased(void *peer)
{
	qs_noise_free(&((ours *) peer)->noise);
	release(peer);
}

#define UNBIASED(what, maker)                                                    \
	OURS(what, 3, maker), .ready = measure_noise, .estimate = estimate_unbiased, \
						  .free = release_unbiased

const peer_kind peer_thread_unbiased = { UNBIASED("thread, unbiased", make_thread) };
const peer_kind peer_multilevel_unbiased = { UNBIASED("multilevel, unbiased", make_multilevel) };

/* ---- qtop ---- */

/* Make a qtop: a list, and a sketch of the remaining bytes. */
static void *
make_qtop(const peer_kind *kind, const peer_order *order)
{
	uint32_t n = order->keys;
	peer_order rest = *order;
	ours *o;

	while (n > 1 && qs_top_capacity(n) * QS_TOP_ENTRY_BYTES > order->bytes / 4)
		n--;
	rest.bytes -= qs_top_capacity(n) * QS_TOP_ENTRY_BYTES;
	o = kind->within->make(kind->within, &rest);
	qs_top_init(&o->top, n, &bench_memory);
	return o;
}

static void
add_to_qtop(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	ours *o = peer;

	bench_check(qs_top_insert(&o->top, &o->sketch, key, weight, count));
	qs_top_batch_done(&o->top);
}

static void
merge_qtops(void *into, const void *from)
{
	ours *a = into;
	const ours *b = from;

	bench_check(qs_top_merge(&a->top, &a->sketch, &b->top, &b->sketch));
}

static int64_t
estimate_of_qtop(const void *peer, uint64_t key)
{
	const ours *o = peer;

	return qs_top_limits_of(&o->top, &o->sketch, key).upper;
}

static uint32_t
list_qtop(void *peer, peer_entry *entry)
{
	ours *o = peer;
	uint32_t i;

	qs_top_finish(&o->top, &o->sketch);
	for (i = 0; i < o->top.count; i++)
	{
		const qs_top_key *key = &o->top.key[i];

		entry[i] = (peer_entry){ key->fingerprint, key->lower, key->lower + key->before };
	}
	return (uint32_t) o->top.count;
}

static int64_t
bound(const void *peer)
{
	return ((const ours *) peer)->top.bound;
}

static uint64_t
bytes_of_qtop(const void *peer)
{
	return bytes(peer) + qs_top_capacity(((const ours *) peer)->top.n) * QS_TOP_ENTRY_BYTES;
}

static uint8_t *
write_qtop(void *peer, size_t *size)
{
	ours *o = peer;
	qs_flat flat = qs_flat_of(&o->sketch);
	uint8_t *out;

	qs_top_finish(&o->top, &o->sketch);
	*size = qs_top_flat_size(&o->top, &flat);
	out = bench_alloc(*size, 1);
	qs_top_write(&o->top, &o->sketch, &flat, out);
	return out;
}

static void
release_qtop(void *peer)
{
	qs_top_free(&((ours *) peer)->top);
	release(peer);
}

#define QTOP(what)                                                                             \
	.name = what, .merges = "yes", .weights = "yes", .removes = "yes", .depth = 3,             \
	.make = make_qtop, .add = add_to_qtop, .merge = merge_qtops, .estimate = estimate_of_qtop, \
	.list = list_qtop, .bound = bound, .bytes = bytes_of_qtop, .write = write_qtop,            \
	.compact = true, .free = release_qtop

const peer_kind peer_qtop = { QTOP("qtop"), .within = &peer_multilevel_3 };
const peer_kind peer_qtop_thread = { QTOP("qtop of thread"), .within = &peer_thread };
