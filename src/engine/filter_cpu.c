/*
 * filter_cpu.c
 *		The CPU engine of filters: computes the positions of rows, and sets or tests their bits.
 *
 * Insertion finds the rows that set a bit, makes their draws, and collects the inputs of their
 * positions.  For each chunk of inputs, insertion computes the positions and sets their bits.
 * Cache lines are prefetched.
 *
 * The least cost of a row is k p + 1 draws (filter/params.h), and one position and one cache line
 * for each bit that the row sets.  A row of a Bloom filter needs no draws.  It costs k positions
 * and k cache lines, or one cache line if the filter is blocked.  Inserting 10 million keys into a
 * filter of 16 MB takes 1.5 to 2 times as long without blocks as with blocks.  Measurements covered
 * chunks of 256 to 16,384 positions, and prefetching 8 to 128 positions ahead.  Chunks above 1,024
 * positions, prefetching more than 32 positions ahead, and huge pages gain nothing.
 *
 * src/engine/filter_cpu.c
 */
#include "base/vector.h"
#include "engine/filter_engine.h"
#include "filter/filter.h"

static const qf_kernels *const sets[QB_ISAS] = {
	[QB_ISA_SCALAR] = &qf_kernels_plain,
#ifdef QB_VECTOR
	[QB_ISA_VECTOR] = &qf_kernels_vector,
#endif
#ifdef __x86_64__
	[QB_ISA_AVX512] = &qf_kernels_avx512,
#endif
};

const qf_kernels *
qf_kernels_now(void)
{
	return sets[qb_isa_now()];
}

/* A buffer of inputs of positions, whose bits flush() sets. */
typedef struct sink
{
	qf_filter *f;
	const qf_kernels *kernels;
	qb_status status;
	uint64_t steps; /* steps since the last pause */
	size_t count;
	uint64_t input[QF_CHUNK];
} sink;

static void
flush(sink *s)
{
	uint32_t position[QF_CHUNK];

	s->kernels->positions(s->input, s->count, s->f->params.m, position);
	if (s->f->encoding == QF_DENSE)
		s->f->ones += s->kernels->set(s->f->bits, position, s->count);
	else if (s->status == QB_OK)
		s->status = qf_set(s->f, position, s->count);
	qb_pause_after(s->f->memory, &s->steps, s->count);
	s->count = 0;
}

/*
 * Append an input to the "count" inputs in the buffer.  If the buffer becomes full, call flush().
 * Returns the new count.
 */
QB_INLINE size_t
take(sink *s, size_t count, uint64_t input)
{
	s->input[count++] = input;
	if (count < QF_CHUNK)
		return count;
	s->count = count;
	flush(s);
	return 0;
}

/*
 * The row's draws choose positions of key h.  Append the inputs of these positions.  The table
 * "gaps" converts a draw to a gap.  If "gaps" is NULL, qf_gap_by_steps() converts the draw by q.
 * Whether "gaps" is NULL is a constant in each call, so the compiler removes the test.
 */
QB_INLINE void
take_chosen(sink *s, const qf_gaps *gaps, uint64_t q, uint64_t h, uint64_t base)
{
	uint32_t k = s->f->params.k;
	size_t count = s->count;
	uint32_t j = 0;
	uint64_t t = 0;

	while (j < k)
	{
		uint64_t draw = qf_draw(base, t++);
		uint32_t gap = gaps ? qf_gap(gaps, draw) : qf_gap_by_steps(q, QF_GAPS, draw);

		j += gap;
		if (j < k && gap < QF_GAPS)
			count = take(s, count, qf_position_input(h, j++));
	}
	s->count = count;
}

static void
take_drawn(sink *s, const qf_gaps *gaps, uint64_t h, uint64_t base)
{
	take_chosen(s, gaps, 0, h, base);
}

/* Compute the input of position j of each key. */
QB_INLINE void
inputs_of(const uint64_t *h, uint32_t j, size_t count, uint64_t *input)
{
	uint64_t add = qf_position_input(0, j);
	size_t i;

	for (i = 0; i < count; i++)
		input[i] = h[i] + add;
}

/* Insert a chunk of keys: position 0 of all keys, then position 1 of all keys, and so on. */
static void
insert_positions(sink *s, const uint64_t *h, size_t count)
{
	uint32_t j;

	for (j = 0; j < s->f->params.k; j++)
	{
		inputs_of(h, j, count, s->input);
		s->count = count;
		flush(s);
	}
}

/*
 * Insert a chunk of keys into their blocks.  The array h has QF_FETCH_AHEAD elements more than
 * "count".
 */
static void
insert_blocks(sink *s, const uint64_t *h, size_t count)
{
	qf_filter *f = s->f;
	uint32_t position;
	size_t i;
	uint32_t j;

	for (i = 0; i < count && f->encoding != QF_DENSE; i++)
		for (j = 0; j < f->params.k && s->status == QB_OK; j++)
		{
			position = qf_any_position(&f->params, h[i], j);
			s->status = qf_set(f, &position, 1);
		}
	for (; i < count; i++)
	{
		qf_fetch_block(f->bits, &f->params, h[i + QF_FETCH_AHEAD]);
		f->ones += qf_block_set(f->bits, &f->params, h[i]);
	}
}

static void
insert_bloom_chunk(sink *s, const uint64_t *fingerprint, const int64_t *copies, size_t count)
{
	uint64_t h[QF_CHUNK + QF_FETCH_AHEAD];
	size_t used = 0;
	size_t i;

	for (i = 0; i < count; i++)
	{
		h[used] = qf_hash(fingerprint[i], s->f->seed_key);
		used += !copies || copies[i] > 0;
	}
	memset(h + used, 0, QF_FETCH_AHEAD * sizeof(*h));
	if (s->f->params.layout == QF_BLOCKED)
		insert_blocks(s, h, used);
	else
		insert_positions(s, h, used);
}

QB_INLINE size_t
chunk_size(size_t count)
{
	return count < QF_CHUNK ? count : QF_CHUNK;
}

static void
insert_bloom(sink *s, const qf_batch *b)
{
	size_t i;

	for (i = 0; i < b->count; i += QF_CHUNK)
		insert_bloom_chunk(s, b->fingerprint + i, b->copies ? b->copies + i : NULL,
						   chunk_size(b->count - i));
}

static void
insert_copies(sink *s, const qf_batch *b)
{
	uint64_t nonce_key = qf_nonce_key(b->nonce);
	size_t i;

	for (i = 0; i < b->count; i++)
		if (b->copies[i] > 0)
		{
			uint64_t base = qf_draw_base(nonce_key, b->row ? b->row[i] : b->first_row + i);
			uint64_t q = qf_power(s->f->params.q, (uint64_t) b->copies[i]);

			take_chosen(s, NULL, q, qf_hash(b->fingerprint[i], s->f->seed_key), base);
			qb_pause_after(s->f->memory, &s->steps, s->f->params.k);
		}
}

static void
insert_rows(sink *s, const qf_batch *b)
{
	qf_chunk rows = { .nonce_key = qf_nonce_key(b->nonce) };
	qf_gaps gaps;
	qf_busy busy;
	size_t start, i;

	qf_gaps_make(&gaps, &s->f->params);
	rows.idle = qf_idle_below(&gaps, s->f->params.k);
	for (start = 0; start < b->count; start += QF_CHUNK)
	{
		rows.row = b->row ? b->row + start : NULL;
		rows.first = b->first_row + start;
		rows.count = chunk_size(b->count - start);
		s->kernels->busy(&rows, &busy);
		for (i = 0; i < busy.count; i++)
			take_drawn(s, &gaps, qf_hash(b->fingerprint[start + busy.index[i]], s->f->seed_key),
					   busy.base[i]);
	}
}

int64_t
qf_batch_rows(const qf_batch *b)
{
	int64_t sum = 0;
	size_t i;

	if (!b->copies)
		return (int64_t) b->count;
	for (i = 0; i < b->count; i++)
		if (__builtin_add_overflow(sum, b->copies[i], &sum))
			return -1;
	return sum;
}

/*
 * Sets the bits first and counts the rows last.  If the pause function leaves this function by an
 * error, some bits may be set.  Inserting the batch again sets the same bits.
 */
static qb_status
cpu_insert(qf_filter *f, const qf_batch *b)
{
	int64_t rows = qf_batch_rows(b);
	qf_filter counted = *f;
	qb_status status = rows < 0 ? QB_TOTAL_OVERFLOW : qf_count_rows(&counted, rows, b->row == NULL);
	sink s;

	if (status != QB_OK)
		return status;
	s.f = f;
	s.kernels = qf_kernels_now();
	s.status = QB_OK;
	s.steps = s.count = 0;
	if (qf_is_bloom(&f->params))
		insert_bloom(&s, b);
	else if (b->copies)
		insert_copies(&s, b);
	else
		insert_rows(&s, b);
	flush(&s);
	if (s.status == QB_OK)
		f->rows = counted.rows;
	return s.status;
}

static void
cpu_query(const qf_filter *f, const uint64_t *fingerprint, size_t count, uint32_t *set)
{
	uint64_t h[QF_CHUNK];
	size_t i;

	if (f->encoding == QF_EXPLICIT)
	{
		qf_explicit_query(f, fingerprint, count, set, qf_kernels_now());
		return;
	}
	/*
	 * A plain loop is enough for blocked Bloom filters and for compact filters.  No caller needs
	 * the number of set positions of a blocked Bloom filter.  Before many lookups, callers expand a
	 * compact filter into bits.
	 */
	for (i = 0; i < count && (f->encoding == QF_ENCODING_COMPACT || f->params.layout == QF_BLOCKED);
		 i++)
		set[i] = qf_count(f, fingerprint[i]);
	while (i < count)
	{
		size_t n = chunk_size(count - i);
		size_t c;

		for (c = 0; c < n; c++)
			h[c] = qf_hash(fingerprint[i + c], f->seed_key);
		qf_kernels_now()->query(f->bits, &f->params, h, n, set + i);
		i += n;
	}
}

/*
 * Remove from h and "index" the keys whose bit is not set.  Returns the number of remaining keys.
 * The array "position" has QF_FETCH_AHEAD elements more than "count".
 */
static size_t
keep(const uint8_t *bits, const uint32_t *position, uint64_t *h, uint32_t *index, size_t count)
{
	size_t kept = 0;
	size_t i;

	for (i = 0; i < count; i++)
	{
		__builtin_prefetch(bits + position[i + QF_FETCH_AHEAD] / 8);
		h[kept] = h[i];
		index[kept] = index[i];
		kept += qf_bit(bits, position[i]);
	}
	return kept;
}

/* Look up a chunk of keys, each in its block. */
static void
blocks_contain(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	uint64_t h[QF_CHUNK + QF_FETCH_AHEAD];
	size_t i;

	for (i = 0; i < count; i++)
		h[i] = qf_hash(fingerprint[i], f->seed_key);
	memset(h + count, 0, QF_FETCH_AHEAD * sizeof(*h));
	qf_kernels_now()->blocks_have(f->bits, &f->params, h, count, found);
}

/*
 * Look up a chunk of keys.  Test position 0 of all keys, then position 1 of the keys whose bit was
 * set, and so on.
 */
static void
positions_contain(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	const qf_kernels *kernels = qf_kernels_now();
	uint64_t h[QF_CHUNK], input[QF_CHUNK];
	uint32_t index[QF_CHUNK], position[QF_CHUNK + QF_FETCH_AHEAD] = { 0 };
	size_t left = count;
	size_t i;
	uint32_t j;

	for (i = 0; i < count; i++)
	{
		h[i] = qf_hash(fingerprint[i], f->seed_key);
		index[i] = (uint32_t) i;
		found[i] = false;
	}
	for (j = 0; j < f->params.k && left > 0; j++)
	{
		inputs_of(h, j, left, input);
		kernels->positions(input, left, f->params.m, position);
		left = keep(f->bits, position, h, index, left);
	}
	for (i = 0; i < left; i++)
		found[index[i]] = true;
}

static void
cpu_contains(const qf_filter *f, const uint64_t *fingerprint, size_t count, bool *found)
{
	size_t i;

	for (i = 0; i < count && f->encoding != QF_DENSE; i++)
		found[i] = qf_has(f, fingerprint[i]);
	for (; i < count; i += QF_CHUNK)
	{
		if (f->params.layout == QF_BLOCKED)
			blocks_contain(f, fingerprint + i, chunk_size(count - i), found + i);
		else
			positions_contain(f, fingerprint + i, chunk_size(count - i), found + i);
	}
}

static qb_status
cpu_merge(qf_filter *into, const qf_filter *from)
{
	return qf_merge(into, from, qf_kernels_now());
}

static qb_status
cpu_materialize(qf_filter *f)
{
	(void) f;
	return QB_OK;
}

static size_t
cpu_batch(const qf_filter *f)
{
	(void) f;
	return QF_BATCH;
}

const qf_engine qf_engine_cpu = {
	.name = "cpu",
	.insert = cpu_insert,
	.query = cpu_query,
	.contains = cpu_contains,
	.merge = cpu_merge,
	.materialize = cpu_materialize,
	.batch = cpu_batch,
};
