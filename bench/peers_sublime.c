/*
 * peers_sublime.c
 *		Sublime: Count-Min with short counters that extend within a cache line.
 *
 * The counters of d rows are in chunks of 64 bytes.  A chunk has, in this order: an overflow bit
 * for each counter; the low bits of each counter, its stub; a pool.  The pool has the other bits of
 * overflowed counters, their extensions, in the order of the counters.  An extension consists of
 * its digits in base 3, of two bits each, the lowest digit first, and ends with the bits 11.  If
 * the pool is too small, an array of 4 bytes for each counter, the tails, has the extensions of the
 * chunk instead (Eslami, Bercea, Pagh and Dayan, "Sublime: Sublinear Error & Space for Unbounded
 * Skewed Streams", 2026, arXiv:2603.14190: VALE encoding and tuning; the details follow the
 * authors' SublimeCMS.hpp, github.com/n3slami/Sublime).
 *
 * Counters are exact, so estimates equal the estimates of a Count-Min sketch with the same number
 * of counters.  In this file, the bytes are given, so the table does not grow with the stream, and
 * the layout is fixed, as in the authors' SublimeCMSNoTuning.hpp.in.  The input determines how many
 * counters fit and, by the authors' rule, how many counters a chunk has and how long stubs are.
 * After all rows, the authors' table of this size would have this layout, too.  A key's counters
 * have the same positions as in a Count-Min sketch; the authors compute positions from one hash
 * ("hash splicing").  The authors also prefetch, and do not free tails when extensions would fit
 * into the pool again.
 *
 * Total weights must stay below 2^32.
 *
 * bench/peers_sublime.c
 */
#include <stdlib.h>
#include <string.h>

#include "peers.h"

#define DEPTH      3
#define WORDS      8 /* words of a chunk */
#define CHUNK      (WORDS * sizeof(uint64_t))
#define CHUNK_BITS (WORDS * 64 - 1) /* without the bit that says that the chunk has tails */
#define LENGTHS    33               /* number of possible lengths of values, in bits */

/* Limits of the authors' rule; TAILS bounds the fraction of chunks with tails. */
#define COUNTERS_MIN 16
#define COUNTERS_MAX 92
#define STUB_MIN     4
#define STUB_MAX     32
#define POOL_MIN     48
#define POOL_MAX     128
#define TAILS        0.03

typedef struct layout
{
	uint32_t counters; /* number of counters of a chunk */
	uint32_t stub;     /* bits of a stub */
} layout;

/* The authors' layout of an empty sketch. */
static const layout unknown = { 68, 5 };

typedef struct sublime
{
	uint64_t seed;
	uint64_t width; /* number of counters of a row */
	uint64_t chunks;
	layout as;
	uint64_t (*chunk)[WORDS];
	uint32_t **tails; /* tails of each chunk; NULL: the extensions are in the pool */
} sublime;

/* ---- layout ---- */

static uint32_t
pool_bits(layout as)
{
	return CHUNK_BITS - as.counters * (as.stub + 1);
}

/* Return the bits of an extension in the pool. */
static uint32_t
extension_bits(uint64_t extension)
{
	uint32_t bits = 2;

	for (; extension; extension /= 3)
		bits += 2;
	return bits;
}

/* True if, by Chebyshev's inequality, values of these lengths need tails in few enough chunks. */
static bool
is_enough(layout as, const uint64_t *of_length, double chunks)
{
	double mean = 0;
	double variance = 0;
	double room;
	uint32_t i;

	for (i = as.stub + 1; i < LENGTHS; i++)
	{
		double bits = extension_bits(UINT64_C(1) << (i - as.stub));

		mean += bits / chunks * (double) of_length[i];
		variance += bits * bits / chunks * (1 - 1 / chunks) * (double) of_length[i];
	}
	room = pool_bits(as) - mean;
	return room > 0 && variance <= TAILS * room * room;
}

/*
 * Return the layout by the authors' rule: the most counters of a chunk, and then the shortest
 * stubs, for which few enough chunks need tails.
 */
static layout
choose(const uint64_t *of_length, uint64_t counters)
{
	layout as;

	for (as.counters = COUNTERS_MAX; as.counters >= COUNTERS_MIN; as.counters--)
		for (as.stub = STUB_MIN; as.stub <= STUB_MAX; as.stub++)
		{
			double chunks = (double) (counters / as.counters) + 1;

			if (as.counters * (as.stub + 1) + POOL_MIN > CHUNK_BITS)
				break;
			if (pool_bits(as) <= POOL_MAX && is_enough(as, of_length, chunks))
				return as;
		}
	return unknown;
}

static uint64_t
chunks_of(uint64_t counters, layout as)
{
	return (counters + as.counters - 1) / as.counters;
}

/* Return the size in bytes, chunks and tails, of a sketch whose counters have these values. */
static uint64_t
bytes_of(const uint32_t *value, uint64_t counters, layout as)
{
	uint64_t bytes = chunks_of(counters, as) * CHUNK;
	uint64_t at = 0;
	uint32_t i;

	while (at < counters)
	{
		uint32_t pool = 0;

		for (i = 0; i < as.counters && at < counters; i++, at++)
			if (value[at] >> as.stub)
				pool += extension_bits(value[at] >> as.stub);
		bytes += pool > pool_bits(as) ? as.counters * sizeof(uint32_t) : 0;
	}
	return bytes;
}

/* True if rows of this width fit into the order's bytes.  Sets *as to the layout of the rows. */
static bool
fits(const peer_order *order, uint64_t width, layout *as)
{
	const stream *in = order->input;
	uint32_t *value = bench_alloc(width * DEPTH, sizeof(*value));
	uint64_t of_length[LENGTHS] = { 0 };
	uint64_t at;
	bool ok;
	uint32_t i, k;

	for (k = 0; k < in->keys; k++)
		for (i = 0; i < DEPTH; i++)
			value[i * width + peer_cell(in->key[k], order->seed, i, width)] +=
				(uint32_t) in->count[k];
	for (at = 0; at < width * DEPTH; at++)
		of_length[value[at] ? 32 - __builtin_clz(value[at]) : 0]++;
	*as = choose(of_length, width * DEPTH);
	ok = bytes_of(value, width * DEPTH, *as) <= order->bytes;
	free(value);
	return ok;
}

/* Return the largest width that fits, and set *as to its layout. */
static uint64_t
widest(const peer_order *order, layout *as)
{
	uint64_t low = order->bytes / sizeof(uint64_t) / DEPTH;
	uint64_t high = order->bytes / CHUNK * COUNTERS_MAX / DEPTH + 1;
	layout tried;

	*as = unknown;
	if (!order->input)
		return order->bytes / CHUNK * as->counters / DEPTH;
	fits(order, low, as);
	while (high - low > 1)
	{
		uint64_t middle = (low + high) / 2;

		if (fits(order, middle, &tried))
		{
			low = middle;
			*as = tried;
		}
		else
			high = middle;
	}
	return low;
}

static void *
make(const peer_kind *kind, const peer_order *order)
{
	sublime *s = bench_alloc(1, sizeof(*s));

	(void) kind;
	s->seed = order->seed;
	s->width = widest(order, &s->as);
	s->chunks = chunks_of(s->width * DEPTH, s->as);
	s->chunk = bench_alloc(s->chunks, sizeof(*s->chunk));
	s->tails = bench_alloc(s->chunks, sizeof(*s->tails));
	return s;
}

/* ---- chunks ---- */

static uint64_t
mask(uint32_t bits)
{
	return (UINT64_C(1) << bits) - 1;
}

/* Return at most 32 bits, which may be in two words. */
static uint64_t
get(const uint64_t *word, uint64_t at, uint32_t bits)
{
	uint64_t value = word[at / 64] >> (at % 64);

	if (at % 64 + bits > 64)
		value |= word[at / 64 + 1] << (64 - at % 64);
	return value & mask(bits);
}

static void
put(uint64_t *word, uint64_t at, uint32_t bits, uint64_t value)
{
	word[at / 64] = (word[at / 64] & ~(mask(bits) << (at % 64))) | value << (at % 64);
	if (at % 64 + bits > 64)
	{
		uint32_t below = 64 - at % 64;

		word[at / 64 + 1] = (word[at / 64 + 1] & ~(mask(bits) >> below)) | value >> below;
	}
}

static uint32_t
stub_at(layout as, uint32_t i)
{
	return as.counters + i * as.stub;
}

/* Read the extensions of the first "count" counters of a chunk; 0: the counter has none. */
static void
read_extensions(const sublime *s, uint64_t chunk, uint32_t *extension, uint32_t count)
{
	const uint64_t *word = s->chunk[chunk];
	uint32_t at = stub_at(s->as, s->as.counters);
	uint32_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t power = 1;
		uint64_t digit;

		extension[i] = 0;
		if (!get(word, i, 1))
			continue;
		if (s->tails[chunk])
		{
			extension[i] = s->tails[chunk][i];
			continue;
		}
		for (; (digit = get(word, at, 2)) != 3; at += 2, power *= 3)
			extension[i] += (uint32_t) digit * power;
		at += 2;
	}
}

static void
write_pool(const sublime *s, uint64_t chunk, const uint32_t *extension)
{
	uint64_t *word = s->chunk[chunk];
	uint32_t at = stub_at(s->as, s->as.counters);
	uint32_t i;

	for (i = 0; i < s->as.counters; i++)
	{
		uint32_t rest = extension[i];

		for (; rest; rest /= 3, at += 2)
			put(word, at, 2, rest % 3);
		if (extension[i])
		{
			put(word, at, 2, 3);
			at += 2;
		}
	}
	for (; at < CHUNK_BITS; at++)
		put(word, at, 1, 0);
}

static void
write_extensions(sublime *s, uint64_t chunk, const uint32_t *extension)
{
	uint32_t counters = s->as.counters;
	uint32_t pool = 0;
	uint32_t at, i;

	for (i = 0; i < counters; i++)
	{
		pool += extension[i] ? extension_bits(extension[i]) : 0;
		put(s->chunk[chunk], i, 1, extension[i] > 0);
	}
	if (pool <= pool_bits(s->as))
	{
		free(s->tails[chunk]);
		s->tails[chunk] = NULL;
		write_pool(s, chunk, extension);
		return;
	}
	if (!s->tails[chunk])
		s->tails[chunk] = bench_alloc(counters, sizeof(**s->tails));
	memcpy(s->tails[chunk], extension, counters * sizeof(*extension));
	for (at = stub_at(s->as, counters); at < CHUNK_BITS; at++)
		put(s->chunk[chunk], at, 1, 0);
}

/* ---- counters ---- */

static uint32_t
load(const sublime *s, uint64_t at)
{
	uint64_t chunk = at / s->as.counters;
	uint32_t i = (uint32_t) (at % s->as.counters);
	uint32_t extension[COUNTERS_MAX];
	uint64_t value = get(s->chunk[chunk], stub_at(s->as, i), s->as.stub);

	if (!get(s->chunk[chunk], i, 1))
		return (uint32_t) value;
	read_extensions(s, chunk, extension, i + 1);
	return (uint32_t) (value | (uint64_t) extension[i] << s->as.stub);
}

static void
change(sublime *s, uint64_t at, int64_t weight)
{
	uint64_t chunk = at / s->as.counters;
	uint32_t i = (uint32_t) (at % s->as.counters);
	uint32_t extension[COUNTERS_MAX];
	int64_t value = (int64_t) get(s->chunk[chunk], stub_at(s->as, i), s->as.stub) + weight;

	put(s->chunk[chunk], stub_at(s->as, i), s->as.stub, (uint64_t) value & mask(s->as.stub));
	if (value >= 0 && !((uint64_t) value >> s->as.stub))
		return;
	read_extensions(s, chunk, extension, s->as.counters);
	extension[i] += (uint32_t) (value >> s->as.stub);
	write_extensions(s, chunk, extension);
}

static uint64_t
counter_of(const sublime *s, uint64_t key, uint32_t row)
{
	return row * s->width + peer_cell(key, s->seed, row, s->width);
}

static void
add(void *peer, const uint64_t *key, const int64_t *weight, size_t count)
{
	sublime *s = peer;
	size_t k;
	uint32_t i;

	for (k = 0; k < count; k++)
		for (i = 0; i < DEPTH; i++)
			change(s, counter_of(s, key[k], i), weight ? weight[k] : 1);
}

static int64_t
estimate(const void *peer, uint64_t key)
{
	const sublime *s = peer;
	uint32_t least = UINT32_MAX;
	uint32_t i;

	for (i = 0; i < DEPTH; i++)
	{
		uint32_t value = load(s, counter_of(s, key, i));

		least = value < least ? value : least;
	}
	return least;
}

static void
merge(void *into, const void *from)
{
	sublime *a = into;
	uint64_t at;

	for (at = 0; at < a->width * DEPTH; at++)
		change(a, at, load(from, at));
}

static uint64_t
bytes(const void *peer)
{
	const sublime *s = peer;
	uint64_t all = s->chunks * CHUNK;
	uint64_t i;

	for (i = 0; i < s->chunks; i++)
		all += s->tails[i] ? s->as.counters * sizeof(**s->tails) : 0;
	return all;
}

/* ---- stored bytes ---- */

/* Append the bits number "from" to "to" - 1 of each chunk. */
static void
append(const sublime *s, uint64_t *out, uint64_t *end, uint32_t from, uint32_t to)
{
	uint64_t i;
	uint32_t at;

	for (i = 0; i < s->chunks; i++)
		for (at = from; at < to; at++)
			put(out, (*end)++, 1, get(s->chunk[i], at, 1));
}

/* Write the overflow bits of all chunks, then their stubs, pools and tails. */
static uint8_t *
write_chunks(void *peer, size_t *size)
{
	const sublime *s = peer;
	uint32_t stubs = s->as.counters;
	uint32_t pool = stub_at(s->as, s->as.counters);
	uint8_t *out = bench_alloc(bytes(s), 1);
	uint8_t *tails = out + s->chunks * CHUNK;
	uint64_t end = 0;
	uint64_t i;

	*size = bytes(s);
	append(s, (uint64_t *) out, &end, 0, stubs);
	append(s, (uint64_t *) out, &end, stubs, pool);
	append(s, (uint64_t *) out, &end, pool, CHUNK_BITS);
	for (i = 0; i < s->chunks; i++)
	{
		put((uint64_t *) out, end++, 1, s->tails[i] != NULL);
		if (s->tails[i])
		{
			memcpy(tails, s->tails[i], s->as.counters * sizeof(**s->tails));
			tails += s->as.counters * sizeof(**s->tails);
		}
	}
	return out;
}

static void
release(void *peer)
{
	sublime *s = peer;
	uint64_t i;

	for (i = 0; i < s->chunks; i++)
		free(s->tails[i]);
	free(s->tails);
	free(s->chunk);
	free(s);
}

const peer_kind peer_sublime = {
	.name = "Sublime, fixed size",
	.merges = "yes",
	.weights = "yes",
	.removes = "yes",
	.make = make,
	.add = add,
	.merge = merge,
	.estimate = estimate,
	.bytes = bytes,
	.write = write_chunks,
	.free = release,
};
