/*
 * sketch_avx512.c
 *		Inner loops of sketches with AVX-512.
 *
 * A bucket of sub_warp is one vector of 32 bytes, a bucket of half_warp one vector of 64 bytes, and
 * a bucket of warp two vectors of 64 bytes.  Each vector of a key's bucket costs a load, an
 * addition under the key's mask, and a store.  First the hashes, buckets and masks of the whole
 * batch are computed, in loops that the compiler vectorizes for eight keys.
 *
 * A key costs at least one cache line, which is read and written.
 *
 * A low bucket of multilevel is one vector of 32 bytes: 28 one-byte counters, and the index of a
 * high bucket.  With weights of 1 few counters overflow, and carry() handles one counter after
 * another.  Each weight of 256 or more changes the high bucket, which is two vectors, or four
 * vectors in a wide sketch.
 *
 * add_select() adds a batch, and selects the keys whose estimates after the batch reach a limit.
 * add_select() tests the counters while they are in registers, because reading the counters again
 * after the batch takes about as long as adding.  A key whose estimate is too small when the key is
 * added can reach the limit later, if a later key of the same bucket raises a counter of both keys
 * to the limit.  So a key is also selected if a later key has raised a counter of its bucket to the
 * limit.
 *
 * src/engine/sketch_avx512.c
 */
#include "sketch/kernels.h"

#ifdef __x86_64__

#include <immintrin.h>

/*
 * When GCC tunes for some processors, it vectorizes loops with 512 bits only if
 * prefer-vector-width=512 is set.  clang does not accept this option in an attribute.
 */
#ifdef __clang__
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define AVX512 __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif

/* ---- buckets of plain counters ---- */

AVX512 static void
hash(uint64_t seed_key, const uint64_t *fingerprint, size_t count, uint64_t *restrict hv)
{
	qs_hash_each(seed_key, fingerprint, count, hv);
}

QB_INLINE uint32_t
weight_of(const int64_t *weight, size_t i)
{
	return weight ? (uint32_t) weight[i] : 1;
}

AVX512 static void
add8(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, 8, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * 32;
		__m256i v = _mm256_loadu_si256((const void *) p);
		__m256i w = _mm256_set1_epi32((int) weight_of(weight, i));

		__builtin_prefetch(sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * 32, 1);
		_mm256_storeu_si256((void *) p, _mm256_mask_add_epi32(v, (__mmask8) mask[i], v, w));
	}
}

/* Add keys to buckets of m = 16 or 32 counters, which are one or two vectors. */
AVX512 QB_INLINE void
add16s(qs_sketch *sk, uint32_t m, const uint64_t *hv, const int64_t *weight, size_t count)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	size_t i;

	qs_locate_batch(sk, m, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * m * 4;
		const uint8_t *next = sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * m * 4;
		__m512i w = _mm512_set1_epi32((int) weight_of(weight, i));
		uint32_t half;

		for (half = 0; half < m / 16; half++)
		{
			__m512i v = _mm512_loadu_si512(p + half * 64);

			__builtin_prefetch(next + half * 64, 1);
			v = _mm512_mask_add_epi32(v, (__mmask16) (mask[i] >> (half * 16)), v, w);
			_mm512_storeu_si512(p + half * 64, v);
		}
	}
}

AVX512 static void
add16(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add16s(sk, 16, hv, weight, count);
}

AVX512 static void
add32(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	add16s(sk, 32, hv, weight, count);
}

/* ---- multilevel ---- */

/*
 * The number of marks.  A bucket's mark says that a later key has raised a counter to the limit.
 * Several buckets share a mark.  So a key may be selected although only a counter of another bucket
 * was raised.
 */
#define MARKS 8192

/* Which keys of a batch may reach the limit "least". */
typedef struct watch
{
	uint64_t least;
	uint8_t reached
		[QS_BATCH]; /* of each key: its estimate had reached the limit when the key was added */
	uint8_t lifted[QS_BATCH]; /* of each key: it may have raised a counter to the limit */
} watch;

/* Masks of counters, for one key that is being added. */
typedef struct sight
{
	uint32_t low_below; /* counters of the bucket whose low part is below the limit's low part */
	uint32_t below;     /* not 0: a counter of the key is below the limit */
	uint32_t lifted;    /* not 0: the key may have raised a counter to the limit */
} sight;

/* The keys of a batch, at most QS_BATCH, with their buckets and masks from qs_locate_batch(). */
typedef struct batch
{
	const int64_t *weight; /* NULL: all weights are 1 */
	size_t count;
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
} batch;

/* The numbers to add to the counters of a high bucket. */
typedef struct addend
{
	uint32_t mask;    /* mask of counters to which "more" is added */
	uint32_t carried; /* mask of counters to which 1 is added in addition to "more" */
	uint64_t more;
} addend;

/*
 * Write the indexes of the bytes that are not 0, ascending.  Returns the number of indexes.  Reads
 * whole vectors, so the bytes after "count" must be 0.
 */
AVX512 QB_INLINE size_t
numbers_of(const uint8_t *byte, size_t count, uint32_t *found)
{
	const __m512i step = _mm512_set1_epi32(16);
	__m512i number = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
	size_t n = 0;
	size_t i;

	for (i = 0; i < count; i += 16, number = _mm512_add_epi32(number, step))
	{
		__m128i bytes = _mm_loadu_si128((const void *) (byte + i));
		__mmask16 set = _mm_test_epi8_mask(bytes, bytes);

		_mm512_mask_compressstoreu_epi32(found + n, set, number);
		n += (size_t) __builtin_popcount(set);
	}
	return n;
}

/* Write the indexes of the keys to select, ascending.  Returns the number of these keys. */
AVX512 QB_INLINE size_t
watched(watch *w, const uint32_t *bucket, size_t count, uint32_t *found)
{
	uint8_t marked[MARKS] = { 0 };
	size_t i;

	for (i = count; i-- > 0;)
	{
		uint8_t *mark = &marked[bucket[i] % MARKS];

		w->reached[i] |= *mark;
		*mark |= w->lifted[i];
	}
	memset(w->reached + count, 0, sizeof(w->reached) - count);
	return numbers_of(w->reached, count, found);
}

QB_INLINE uint32_t
high_bytes(bool wide)
{
	return QS_HIGH_COUNTERS * (wide ? 8 : 4);
}

/*
 * The high buckets of a sketch.  Loops have a local copy, because the compiler must assume that a
 * store to a counter changes the members of the sketch.
 */
typedef struct high_table
{
	uint8_t *first;
	uint64_t used;
} high_table;

/* Does the work of qs_high_of() for a constant "wide". */
QB_INLINE uint8_t *
high_of(high_table table, const uint8_t *low, bool wide)
{
	uint64_t number = (uint64_t) qb_load32(low + QS_LOW_COUNTERS) - QS_HIGH_INDEX_MIN;

	return number < table.used ? table.first + number * high_bytes(wide) : NULL;
}

/* Prefetch the high bucket of a low bucket, if the low bucket has a high bucket. */
QB_INLINE void
fetch_high(high_table table, const uint8_t *low, bool wide)
{
	const uint8_t *high = high_of(table, low, wide);
	uint32_t line;

	for (line = 0; high && line < (wide ? 4 : 2); line++)
		__builtin_prefetch(high + line * 64, 1);
}

AVX512 QB_INLINE __m512i
high_set(uint64_t value, bool wide)
{
	return wide ? _mm512_set1_epi64((long long) value) : _mm512_set1_epi32((int) value);
}

/* Add w to the lanes of v whose bits in the mask are set. */
AVX512 QB_INLINE __m512i
lanes_add(__m512i v, bool wide, uint32_t mask, __m512i w)
{
	return wide ? _mm512_mask_add_epi64(v, (__mmask8) mask, v, w)
				: _mm512_mask_add_epi32(v, (__mmask16) mask, v, w);
}

/* Returns a mask of the lanes in "mask" in which v is less than t (unsigned). */
AVX512 QB_INLINE uint32_t
lanes_below(__m512i v, bool wide, uint32_t mask, __m512i t)
{
	return wide ? (uint32_t) _mm512_mask_cmplt_epu64_mask((__mmask8) mask, v, t)
				: (uint32_t) _mm512_mask_cmplt_epu32_mask((__mmask16) mask, v, t);
}

/* Add 1 to the high counters of the low counters that have passed 255. */
static __attribute__((noinline)) void
carry(qs_sketch *sk, uint8_t *low, uint32_t counters)
{
	uint8_t *high = qs_high_for_update(sk, low);

	for (; counters != 0; counters &= counters - 1)
	{
		uint32_t c = (uint32_t) __builtin_ctz(counters);

		qb_counter_set(high, c, sk->wide, qb_counter_get(high, c, sk->wide) + 1);
	}
}

/*
 * True if any counter of the mask is below "least".  "low_below" has the counters whose low part is
 * below the low part of "least".  Such a counter is below "least" unless its high part is greater
 * than the high part of "least".  Any other counter is below "least" only if its high part is less
 * than the high part of "least".
 */
AVX512 QB_INLINE bool
any_below(const uint8_t *high, bool wide, uint32_t mask, uint64_t least, uint32_t low_below)
{
	uint32_t below = 0;
	uint32_t i;

	if (!high)
		return least > 255 || (mask & low_below) != 0;
#pragma GCC unroll 4
	for (i = 0; i < QS_HIGH_COUNTERS; i += wide ? 8 : 16, high += 64)
	{
		__m512i t = high_set(least >> 8, wide);

		t = lanes_add(t, wide, low_below >> i, high_set(1, wide));
		below |= lanes_below(_mm512_loadu_si512(high), wide, mask >> i, t);
	}
	return below != 0;
}

/*
 * Record whether a key of weight 1 has reached the limit.  A counter that the key has raised to the
 * limit equals the limit.
 */
AVX512 QB_INLINE void
watch_one(watch *w, const qs_sketch *sk, size_t i, uint32_t mask, const uint8_t *low, __m256i sum)
{
	const __m256i limit = _mm256_set1_epi8((char) w->least);
	uint32_t low_below = _mm256_cmplt_epu8_mask(sum, limit);
	high_table table = { sk->extra, sk->extra_used };
	const uint8_t *high = high_of(table, low, sk->wide);

	w->reached[i] = !(sk->wide ? any_below(high, true, mask, w->least, low_below)
							   : any_below(high, false, mask, w->least, low_below));
	w->lifted[i] = (high || w->least <= 255) && _mm256_mask_cmpeq_epi8_mask(mask, sum, limit) != 0;
}

/* Add keys of weight 1. */
AVX512 QB_INLINE void
add_ones(qs_sketch *sk, const batch *keys, watch *w)
{
	const uint32_t *bucket = keys->bucket;
	const uint32_t *mask = keys->mask;
	const __m256i one = _mm256_set1_epi8(1);
	size_t i;

	for (i = 0; i < keys->count; i++)
	{
		uint8_t *p = sk->table + (size_t) bucket[i] * QS_LOW_BYTES;
		__m256i v = _mm256_loadu_si256((const void *) p);
		__m256i sum = _mm256_mask_add_epi8(v, mask[i], v, one);

		__builtin_prefetch(sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * QS_LOW_BYTES, 1);
		_mm256_storeu_si256((void *) p, sum);
		if (__builtin_expect(_mm256_mask_testn_epi8_mask(mask[i], sum, sum) != 0, 0))
			carry(sk, p, _mm256_mask_testn_epi8_mask(mask[i], sum, sum));
		if (w)
			watch_one(w, sk, i, mask[i], p, sum);
	}
}

/*
 * Add to the counters of a high bucket.  Unless w is NULL, also set members of "seen".
 * seen->below becomes nonzero if a counter of the key is now below the limit.  seen->lifted becomes
 * nonzero if a counter of the key is not below the limit now, and its high part before the addition
 * was at most the high part of the limit.
 */
AVX512 QB_INLINE void
add_high(uint8_t *high, bool wide, addend add, const watch *w, sight *seen)
{
	const __m512i one = high_set(1, wide);
	uint32_t i;

#pragma GCC unroll 4
	for (i = 0; i < QS_HIGH_COUNTERS; i += wide ? 8 : 16, high += 64)
	{
		__m512i added = lanes_add(high_set(add.more, wide), wide, add.carried >> i, one);
		__m512i v = _mm512_loadu_si512(high);
		__m512i sum = lanes_add(v, wide, add.mask >> i, added);

		_mm512_storeu_si512(high, sum);
		if (w)
		{
			__m512i t = high_set(w->least >> 8, wide);
			__m512i least = lanes_add(t, wide, seen->low_below >> i, one);
			uint32_t below = lanes_below(sum, wide, add.mask >> i, least);

			seen->below |= below;
			seen->lifted |=
				lanes_below(v, wide, (add.mask >> i) & ~below, high_set((w->least >> 8) + 1, wide));
		}
	}
}

QB_INLINE void
note_sight(watch *w, size_t i, const sight *seen)
{
	w->reached[i] = seen->below == 0;
	w->lifted[i] = seen->lifted != 0;
}

/*
 * If the average weight is between these limits, many keys change their high bucket and many do
 * not.  Weights above 256 count as 256.
 */
#define UNSURE_FROM 40
#define UNSURE_TO   216

/*
 * Returns all ones if the processor can hardly predict which keys of the batch change their high
 * bucket, else 0.  A mispredicted branch takes longer than adding 0 to a high bucket.
 */
QB_INLINE uint64_t
unsure(const int64_t *weight, size_t count)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < count; i++)
		sum += (uint64_t) weight[i] < 256 ? (uint64_t) weight[i] : 256;
	return sum >= count * UNSURE_FROM && sum < count * UNSURE_TO ? UINT64_MAX : 0;
}

/*
 * Add keys with weights.  A low bucket holds the number of its high bucket.  So the low bucket is
 * prefetched QS_PREFETCH_AHEAD keys ahead, and the high bucket QS_PREFETCH_AHEAD / 2 keys ahead.
 */
AVX512 QB_INLINE void
add_weights(qs_sketch *sk, bool wide, const batch *keys, watch *w)
{
	const uint32_t *bucket = keys->bucket;
	const uint32_t *mask = keys->mask;
	const int64_t *weight = keys->weight;
	const __m256i limit = _mm256_set1_epi8(w ? (char) w->least : 0);
	high_table table = { sk->extra, sk->extra_used };
	uint64_t always = unsure(weight, keys->count);
	uint8_t *first = sk->table;
	size_t i;

	for (i = 0; i < keys->count; i++)
	{
		uint8_t *p = first + (size_t) bucket[i] * QS_LOW_BYTES;
		uint8_t *high = high_of(table, p, wide);
		uint64_t more = (uint64_t) weight[i] >> 8;
		__m256i added = _mm256_set1_epi8((char) weight[i]);
		__m256i v = _mm256_loadu_si256((const void *) p);
		__m256i sum = _mm256_mask_add_epi8(v, mask[i], v, added);
		uint32_t carried = _mm256_mask_cmplt_epu8_mask(mask[i], sum, added);
		sight seen = { .low_below = _mm256_cmplt_epu8_mask(sum, limit) };

		__builtin_prefetch(first + (size_t) bucket[i + QS_PREFETCH_AHEAD] * QS_LOW_BYTES, 1);
		fetch_high(table, first + (size_t) bucket[i + QS_PREFETCH_AHEAD / 2] * QS_LOW_BYTES, wide);
		_mm256_storeu_si256((void *) p, sum);
		if ((more | carried | ((uintptr_t) high & always)) != 0)
		{
			if (!high)
			{
				high = qs_high_for_update(sk, p);
				table.used = sk->extra_used;
			}
			add_high(high, wide, (addend){ mask[i], carried, more }, w, &seen);
		}
		else if (w)
		{
			seen.below = any_below(high, wide, mask[i], w->least, seen.low_below);
			seen.lifted = mask[i] & ~seen.low_below & _mm256_cmplt_epu8_mask(v, limit);
		}
		if (w)
			note_sight(w, i, &seen);
	}
}

/* Add a batch.  Unless w is NULL, record in w which keys may reach the limit. */
AVX512 QB_INLINE void
add(qs_sketch *sk, const batch *keys, watch *w)
{
	if (!keys->weight)
		add_ones(sk, keys, w);
	else if (sk->wide)
		add_weights(sk, true, keys, w);
	else
		add_weights(sk, false, keys, w);
}

AVX512 static void
add_low(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count)
{
	batch keys;

	keys.weight = weight;
	keys.count = count;
	qs_locate_batch(sk, QS_LOW_COUNTERS, hv, count, keys.bucket, keys.mask);
	add(sk, &keys, NULL);
}

AVX512 static size_t
add_select(qs_sketch *sk, const uint64_t *hv, const int64_t *weight, size_t count, uint64_t least,
		   uint32_t *found)
{
	batch keys;
	watch w;

	keys.weight = weight;
	keys.count = count;
	w.least = least;
	qs_locate_batch(sk, QS_LOW_COUNTERS, hv, count, keys.bucket, keys.mask);
	add(sk, &keys, &w);
	return watched(&w, keys.bucket, count, found);
}

/*
 * Select the keys whose estimates are at least "least", which are the keys without a counter below
 * "least".  High buckets are prefetched if most low buckets have a high bucket.  If few low buckets
 * have a high bucket, testing each low bucket costs more than prefetching saves.
 */
AVX512 QB_INLINE size_t
select_of(const qs_sketch *sk, bool wide, const uint64_t *hv, size_t count, uint64_t least,
		  uint32_t *found)
{
	uint32_t bucket[QS_BATCH + QS_PREFETCH_AHEAD];
	uint32_t mask[QS_BATCH];
	const __m256i low_least = _mm256_set1_epi8((char) least);
	high_table table = { sk->extra, sk->extra_used };
	bool many = sk->extra_used > sk->params.n / 2;
	size_t n = 0;
	size_t i;

	qs_locate_batch(sk, QS_LOW_COUNTERS, hv, count, bucket, mask);
	for (i = 0; i < count; i++)
	{
		const uint8_t *low = sk->table + (size_t) bucket[i] * QS_LOW_BYTES;
		uint32_t below = _mm256_cmplt_epu8_mask(_mm256_loadu_si256((const void *) low), low_least);

		__builtin_prefetch(sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD] * QS_LOW_BYTES);
		if (many)
			fetch_high(table, sk->table + (size_t) bucket[i + QS_PREFETCH_AHEAD / 2] * QS_LOW_BYTES,
					   wide);
		found[n] = (uint32_t) i;
		n += !any_below(high_of(table, low, wide), wide, mask[i], least, below);
	}
	return n;
}

AVX512 static size_t
select_keys(const qs_sketch *sk, const uint64_t *hv, size_t count, uint64_t least, uint32_t *found)
{
	return sk->wide ? select_of(sk, true, hv, count, least, found)
					: select_of(sk, false, hv, count, least, found);
}

/* A qs_low_add function.  A byte has carried if its sum is less than the number that was added. */
AVX512 QB_INLINE size_t
low_add(uint8_t *into, const uint8_t *from, size_t count, bool negative, uint8_t *carries,
		qs_carry *list)
{
	const __mmask32 counters = (UINT32_C(1) << QS_LOW_COUNTERS) - 1;
	const __m256i one = _mm256_set1_epi8(1);
	size_t listed = 0;
	size_t i;

	for (i = 0; i < count; i++, into += QS_LOW_BYTES, from += QS_LOW_BYTES)
	{
		__m256i old = _mm256_loadu_si256((const void *) into);
		__m256i v = _mm256_loadu_si256((const void *) from);
		__m256i sum = negative ? _mm256_mask_sub_epi8(old, counters, old, v)
							   : _mm256_mask_add_epi8(old, counters, old, v);
		uint32_t mask = _mm256_mask_cmplt_epu8_mask(counters, negative ? old : sum, v);

		_mm256_storeu_si256((void *) into, sum);
		if (carries)
		{
			void *count_of = carries + i * QS_LOW_BYTES;
			__m256i carried = _mm256_loadu_si256(count_of);

			_mm256_storeu_si256(count_of, _mm256_mask_add_epi8(carried, mask, carried, one));
			mask = 0;
		}
		if ((mask | qb_load32(from + QS_LOW_COUNTERS)) != 0)
			list[listed++] = (qs_carry){ (uint32_t) i, mask };
	}
	return listed;
}

AVX512 static qb_status
accumulate(qs_sketch *into, const qs_sketch *from, bool negative)
{
	return qs_multilevel_accumulate_by(into, from, negative, low_add);
}

const qs_kernels qs_kernels_avx512 = {
	.hash = hash,
	.add = { [QS_WARP] = add32,
			 [QS_HALF_WARP] = add16,
			 [QS_SUB_WARP] = add8,
			 [QS_MULTILEVEL] = add_low },
	.select = select_keys,
	.add_select = add_select,
	.accumulate = accumulate,
};

#endif
