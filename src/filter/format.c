/*
 * format.c
 *		Writes, opens and validates the byte format of a filter, and looks up keys in it.
 *
 * src/filter/format.c
 */
#include "filter/format.h"

#include "base/crc32c.h"
#include "base/groups.h"

enum
{
	AT_VERSION = 3,
	AT_ENCODING = 4,
	AT_LAYOUT = 5,
	AT_TEXT = 6,
	AT_RESERVED = 7,
	AT_K = 8,
	AT_CRC = 12,
	AT_M = 16,
	AT_SEED = 24,
	AT_FAMILY = 32,
	AT_COLLATION = 36,
	AT_ROWS = 40,
	AT_Q = 48,
	AT_ONES = 56
};

static const char magic[3] = { 'Q', 'F', 'L' };

/*
 * ---- the compact encoding: reading, adding to a filter, validating ----
 *
 * Each read of a byte checks the end of the data.  Each position is checked against the end of its
 * group.  So damaged bytes can give wrong bits, but cannot cause an access outside of the value and
 * the bits.
 */

/* The least average number of set bits in a group, if a filter has several groups. */
#define ONES_IN_GROUP 32

/* The maximum size of a varint in bytes.  A varint holds a gap of up to 32 bits. */
#define GAP_BYTES 5

/* A group of bits that is being read; its data are in memory. */
typedef struct group
{
	const uint8_t *next;
	const uint8_t *end;
	uint64_t first; /* the least value of the next position */
	uint64_t after; /* the first position that is not in the group */
	bool damaged;   /* true: the bytes are not what write_compact() writes */
} group;

/* Return s, where a group has 2^s bits. */
static uint32_t
group_shift(uint64_t m, uint64_t ones)
{
	return qb_group_shift(m, ones, ONES_IN_GROUP, QF_BLOCK_LOG);
}

uint64_t
qf_group_table(const qf_params *p, uint64_t ones)
{
	return 4 * (qb_group_count(p->m, group_shift(p->m, ones)) - 1);
}

/* Return the maximum size of a compact body in bytes: three quarters of the dense body. */
static uint64_t
most_compact(const qf_params *p)
{
	return qf_words(p) * 6;
}

/* True if the compact body of this view can have this length.  Does not read the body. */
static bool
plausible(const qf_filter *view, uint64_t bytes)
{
	uint64_t table = qf_group_table(&view->params, view->ones);

	return bytes <= most_compact(&view->params) && table + view->ones <= bytes &&
		   bytes <= table + view->ones * GAP_BYTES;
}

/* Return a reader of group "number", whose data are these bytes. */
static group
group_of(const qf_filter *view, uint64_t number, const uint8_t *data, uint64_t bytes)
{
	uint64_t m = view->params.m;
	uint32_t shift = group_shift(m, view->ones);
	group g = { .next = data, .end = data + bytes, .first = number << shift };

	g.after = (number + 1) << shift;
	if (g.after > m)
		g.after = m;
	return g;
}

/*
 * Read a varint after its first byte, and return its value.  UINT64_MAX: the varint is cut off, too
 * long, or not as short as possible.
 */
QB_INLINE uint64_t
rest_of_gap(group *g, uint64_t first)
{
	uint64_t v = first & 0x7F;
	uint8_t byte = 0x80;
	uint32_t shift;

	for (shift = 7; byte > 0x7F && shift < 7 * GAP_BYTES; shift += 7)
	{
		if (g->next == g->end)
			return UINT64_MAX;
		byte = *g->next++;
		v |= (uint64_t) (byte & 0x7F) << shift;
	}
	return byte == 0 || byte > 0x7F ? UINT64_MAX : v;
}

/* Read the next set bit.  False: the group ends, or its data are damaged. */
QB_INLINE bool
next_bit(group *g, uint32_t *position)
{
	uint64_t gap;

	if (g->next == g->end)
		return false;
	gap = *g->next++;
	if (gap > 0x7F)
		gap = rest_of_gap(g, gap);
	if (gap >= g->after - g->first)
	{
		g->damaged = true;
		g->next = g->end;
		return false;
	}
	*position = (uint32_t) (g->first + gap);
	g->first = *position + UINT64_C(1);
	return true;
}

/* A compact view that is read group by group. */
typedef struct groups
{
	const qf_filter *view;
	uint64_t count;
	uint64_t now; /* number of the next group */
	const uint8_t *data;
	uint64_t bytes; /* length of the data in bytes */
	uint64_t start; /* offset of the next group's data */
} groups;

static groups
groups_of(const qf_filter *view)
{
	uint64_t table = qf_group_table(&view->params, view->ones);

	return (groups){ .view = view,
					 .count = table / 4 + 1,
					 .data = view->compact + table,
					 .bytes = view->compact_bytes - table };
}

/* Start the next group.  False: all groups are done.  A group with a damaged end is empty. */
static bool
next_group(groups *all, group *g)
{
	uint64_t end = all->bytes;
	bool damaged;

	if (all->now == all->count)
		return false;
	if (all->now + 1 < all->count)
		end = qb_load32(all->view->compact + 4 * all->now);
	damaged = end < all->start || end > all->bytes || end - all->start > QF_GROUP_BYTES;
	if (damaged)
		end = all->start;
	*g = group_of(all->view, all->now, all->data + all->start, end - all->start);
	g->damaged = damaged;
	all->start = end;
	all->now++;
	return true;
}

/* ---- adding ---- */

/*
 * Set a group's bits in a dense filter.  The group is passed by value, so that it can stay in
 * registers.
 */
static void
unite_group(qf_filter *into, group g)
{
	uint8_t *bits = into->bits;
	uint64_t ones = 0;
	uint32_t position;

	while (next_bit(&g, &position))
		ones += qf_set_bit(bits, position);
	into->ones += ones;
}

qb_status
qf_unite_compact(qf_filter *into, const qf_filter *from)
{
	groups all = groups_of(from);
	qb_status status = QB_OK;
	uint64_t steps = 0;
	uint32_t position;
	group g;

	if (into->encoding == QF_EXPLICIT && from->ones > qf_explicit_limit(&into->params))
		status = qf_make_dense(into);
	while (status == QB_OK && next_group(&all, &g))
	{
		qb_pause_after(into->memory, &steps, 1 + (uint64_t) (g.end - g.next));
		if (into->encoding == QF_DENSE)
			unite_group(into, g);
		else
			while (status == QB_OK && next_bit(&g, &position))
				status = qf_set(into, &position, 1);
	}
	return status;
}

/* ---- validating ---- */

/* True if the body of a compact view is valid. */
static bool
check_compact(const qf_filter *view)
{
	groups all = groups_of(view);
	uint64_t ones = 0;
	uint64_t steps = 0;
	uint32_t position;
	group g;

	while (next_group(&all, &g))
	{
		qb_pause_after(view->memory, &steps, 1 + (uint64_t) (g.end - g.next));
		while (next_bit(&g, &position))
			ones++;
		if (g.damaged)
			return false;
	}
	return ones == view->ones;
}

/*
 * ---- the compact encoding: measuring and writing ----
 *
 * A filter is measured each time that it is stored.  If a filter has many set bits, their number
 * alone shows that the filter must be dense.  For all other filters one pass over the bits measures
 * the body.  If the body is small enough, a second pass writes it.
 */

/* The number of words between two checks for a crowded group. */
#define WORDS_AT_ONCE 512

/* The state of encoding set bits in ascending order. */
typedef struct encoder
{
	uint8_t *table; /* NULL: only measure the body */
	uint8_t *data;
	uint64_t bytes; /* number of data bytes so far */
	uint64_t start; /* offset of the group's data */
	uint64_t first; /* the first bit of the group that has not been encoded */
	uint64_t after; /* the first bit after the group */
	uint32_t shift;
	bool crowded; /* true: a group has more than QF_GROUP_BYTES bytes */
} encoder;

static encoder
encoder_of(const qf_filter *f, uint8_t *out)
{
	encoder e = { .table = out, .shift = group_shift(f->params.m, f->ones) };

	e.after = UINT64_C(1) << e.shift;
	if (out)
		e.data = out + qf_group_table(&f->params, f->ones);
	return e;
}

/*
 * Write the end of the current group, and the ends of all empty groups before the group that
 * contains "position".  The encoder is passed by value, so that callers can hold it in registers.
 */
static encoder
end_groups(encoder e, uint64_t position)
{
	e.crowded |= e.bytes - e.start > QF_GROUP_BYTES;
	e.start = e.bytes;
	for (; e.after <= position; e.after += UINT64_C(1) << e.shift)
		if (e.table)
			qb_store32(e.table + 4 * ((e.after - 1) >> e.shift), (uint32_t) e.bytes);
	e.first = e.after - (UINT64_C(1) << e.shift);
	return e;
}

QB_INLINE void
put(encoder *e, uint64_t position, bool writing)
{
	uint64_t gap;

	if (position >= e->after)
		*e = end_groups(*e, position);
	gap = position - e->first;
	e->first = position + 1;
	if (!writing)
	{
		e->bytes += 1u + (gap >> 7 != 0) + (gap >> 14 != 0) + (gap >> 21 != 0) + (gap >> 28 != 0);
		return;
	}
	for (; gap > 0x7F; gap >>= 7)
		e->data[e->bytes++] = (uint8_t) (gap | 0x80);
	e->data[e->bytes++] = (uint8_t) gap;
}

/*
 * Encode a word that is not 0 and begins at bit "at".  The word lies in one group.  Gaps within the
 * word are below 64, so only the gap before its first set bit can take more than one byte.
 */
QB_INLINE void
put_word(encoder *e, uint64_t at, uint64_t w, bool writing)
{
	put(e, at + (uint64_t) __builtin_ctzll(w), writing);
	if (!writing)
	{
		e->bytes += qf_ones_of(w) - 1;
		e->first = at + 64 - (uint64_t) __builtin_clzll(w);
		return;
	}
	for (w &= w - 1; w != 0; w &= w - 1)
	{
		uint64_t position = at + (uint64_t) __builtin_ctzll(w);

		e->data[e->bytes++] = (uint8_t) (position - e->first);
		e->first = position + 1;
	}
}

QB_INLINE void
put_words(encoder *all, const uint8_t *bits, uint64_t first, uint64_t end, bool writing)
{
	encoder e = *all;
	uint64_t i;

	for (i = first; i < end; i++)
	{
		uint64_t w = qb_load64(bits + i * 8);

		if (w != 0)
			put_word(&e, i * 64, w, writing);
	}
	*all = e;
}

static void
encode_dense(const qf_filter *f, encoder *e)
{
	uint64_t words = qf_words(&f->params);
	uint64_t steps = 0;
	uint64_t i, end;

	for (i = 0; i < words && !e->crowded; i = end)
	{
		end = words - i < WORDS_AT_ONCE ? words : i + WORDS_AT_ONCE;
		if (e->table)
			put_words(e, f->bits, i, end, true);
		else
			put_words(e, f->bits, i, end, false);
		qb_pause_after(f->memory, &steps, WORDS_AT_ONCE * 8);
	}
}

static void
encode_explicit(const qf_filter *f, encoder *e)
{
	uint32_t position[QF_EXPLICIT_MAX];
	uint64_t i;

	qf_explicit_sorted(f, position);
	for (i = 0; i < f->ones; i++)
		put(e, position[i], e->table != NULL);
}

/*
 * Encode all bits.  The end of the last group is not stored, because the body ends with this group.
 */
static void
encode(const qf_filter *f, encoder *e)
{
	if (f->encoding == QF_EXPLICIT)
		encode_explicit(f, e);
	else
		encode_dense(f, e);
	*e = end_groups(*e, f->params.m - 1);
}

/*
 * True if a filter, whose bits are in memory, is to be written in compact encoding.  If true, sets
 * *bytes to the length of the body.
 */
static bool
compact_fits(const qf_filter *f, uint64_t *bytes)
{
	uint64_t most = most_compact(&f->params);
	uint64_t table = qf_group_table(&f->params, f->ones);
	encoder e = encoder_of(f, NULL);

	if (table + f->ones > most)
		return false;
	encode(f, &e);
	*bytes = table + e.bytes;
	return !e.crowded && *bytes <= most;
}

/* Write the body of a filter for which compact_fits() is true. */
static void
write_compact(const qf_filter *f, uint8_t *out)
{
	encoder e = encoder_of(f, out);

	encode(f, &e);
}

/* ---- writing ---- */

static uint64_t
dense_bytes(const qf_params *p)
{
	return qf_words(p) * 8;
}

qf_flat
qf_flat_of(const qf_filter *f)
{
	qf_flat flat = { .encoding = QF_DENSE, .bytes = QF_HEADER_BYTES };
	uint64_t compact;

	if (!compact_fits(f, &compact))
		flat.bytes += dense_bytes(&f->params);
	else
	{
		flat.encoding = QF_ENCODING_COMPACT;
		flat.bytes += compact;
	}
	return flat;
}

uint64_t
qf_dense_size(const qf_params *p)
{
	return QF_HEADER_BYTES + dense_bytes(p);
}

static void
write_header(const qf_filter *f, uint8_t form, uint8_t *out)
{
	memset(out, 0, QF_HEADER_BYTES);
	memcpy(out, magic, sizeof(magic));
	out[AT_VERSION] = QF_FORMAT_VERSION_1;
	out[AT_ENCODING] = form;
	out[AT_LAYOUT] = (uint8_t) f->params.layout;
	qb_store32(out + AT_K, f->params.k);
	qb_store64(out + AT_M, f->params.m);
	qb_store64(out + AT_SEED, f->params.seed);
	qb_store32(out + AT_FAMILY, f->keys.family);
	qb_store32(out + AT_COLLATION, f->keys.collation);
	out[AT_TEXT] = (uint8_t) f->keys.text;
	qb_store64(out + AT_ROWS, (uint64_t) f->rows);
	qb_store64(out + AT_Q, f->params.q);
	qb_store32(out + AT_ONES, (uint32_t) f->ones);
}

/*
 * Write the bits in dense encoding.  A list of positions is written dense only if a group is
 * crowded.  Hashes do not crowd a group by chance.
 */
static void
write_dense(const qf_filter *f, uint8_t *out)
{
	uint64_t at = 0;
	uint32_t position;

	if (f->encoding == QF_DENSE)
	{
		memcpy(out, f->bits, dense_bytes(&f->params));
		return;
	}
	memset(out, 0, dense_bytes(&f->params));
	while (qf_explicit_next(f, &at, &position))
		qf_set_bit(out, position);
}

void
qf_write(const qf_filter *f, const qf_flat *flat, uint8_t *out)
{
	write_header(f, flat->encoding, out);
	if (flat->encoding == QF_ENCODING_COMPACT)
		write_compact(f, out + QF_HEADER_BYTES);
	else
		write_dense(f, out + QF_HEADER_BYTES);
	qb_store32(out + AT_CRC, qb_checksum(out, flat->bytes, AT_CRC));
}

/* ---- opening and validating ---- */

/* True if the number of rows, the number of set bits and the keys are consistent. */
static bool
state_fits(const qf_filter *f)
{
	if (f->rows < QF_ROWS_UNKNOWN || f->ones > f->params.m || !qb_keys_valid(&f->keys))
		return false;
	if (f->rows == 0)
		return f->ones == 0 && qb_keys_none(&f->keys);
	if (qb_keys_none(&f->keys))
		return false;
	if (qf_is_bloom(&f->params))
		return f->rows == QF_ROWS_UNKNOWN && f->ones > 0;
	return f->rows == QF_ROWS_UNKNOWN || (f->ones - 1) / f->params.k < (uint64_t) f->rows ||
		   f->ones == 0;
}

/*
 * Set the body of a view.  QB_FORMAT_LENGTH: the length does not fit the header's encoding.
 * QB_FORMAT_PARAMS: the encoding is unknown.
 */
static qb_status
open_body(qf_filter *view, const uint8_t *body, uint64_t bytes)
{
	if (view->encoding == QF_ENCODING_COMPACT)
	{
		view->compact = body;
		view->compact_bytes = bytes;
		return plausible(view, bytes) ? QB_OK : QB_FORMAT_LENGTH;
	}
	if (view->encoding != QF_DENSE)
		return QB_FORMAT_PARAMS;
	/* No function writes to a view, so casting const away is safe. */
	view->bits = (uint8_t *) (uintptr_t) body;
	return bytes == dense_bytes(&view->params) ? QB_OK : QB_FORMAT_LENGTH;
}

qb_status
qf_open(qf_filter *view, const uint8_t *bytes, uint64_t length)
{
	static const uint8_t zero[AT_K - AT_RESERVED] = { 0 };
	qf_params p;

	if (length < QF_HEADER_BYTES)
		return QB_FORMAT_SHORT;
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return QB_FORMAT_MAGIC;
	if (bytes[AT_VERSION] != QF_FORMAT_VERSION_1)
		return QB_FORMAT_VERSION;
	p = (qf_params){ .seed = qb_load64(bytes + AT_SEED),
					 .m = qb_load64(bytes + AT_M),
					 .q = qb_load64(bytes + AT_Q),
					 .k = qb_load32(bytes + AT_K),
					 .layout = bytes[AT_LAYOUT] };
	if (qf_params_check(&p) != QB_OK)
		return QB_FORMAT_PARAMS;
	qf_init(view, &p, NULL);
	view->view = true;
	view->encoding = bytes[AT_ENCODING];
	view->keys.family = qb_load32(bytes + AT_FAMILY);
	view->keys.collation = qb_load32(bytes + AT_COLLATION);
	view->keys.text = bytes[AT_TEXT];
	view->rows = (int64_t) qb_load64(bytes + AT_ROWS);
	view->ones = qb_load32(bytes + AT_ONES);
	if (!state_fits(view))
		return QB_FORMAT_PARAMS;
	if (memcmp(bytes + AT_RESERVED, zero, sizeof(zero)) != 0)
		return QB_FORMAT_RESERVED;
	return open_body(view, bytes + QF_HEADER_BYTES, length - QF_HEADER_BYTES);
}

static qb_status
check_bits(const qf_filter *f)
{
	uint64_t words = qf_words(&f->params);
	uint64_t last = qb_load64(f->bits + (words - 1) * 8);
	uint64_t compact;

	if (f->params.m % 64 != 0 && last >> f->params.m % 64 != 0)
		return QB_FORMAT_RESERVED;
	if (qf_ones(f->bits, words) != f->ones || compact_fits(f, &compact))
		return QB_FORMAT_BITS;
	return QB_OK;
}

qb_status
qf_validate(const uint8_t *bytes, uint64_t length, const qb_memory *memory)
{
	qf_filter view;
	qb_status status = qf_open(&view, bytes, length);

	if (status != QB_OK)
		return status;
	if (qb_load32(bytes + AT_CRC) != qb_checksum(bytes, length, AT_CRC))
		return QB_FORMAT_CRC;
	view.memory = memory;
	if (view.encoding == QF_DENSE)
		return check_bits(&view);
	return check_compact(&view) ? QB_OK : QB_FORMAT_BITS;
}

/* ---- looking up a key in stored bytes ---- */

/*
 * Read a group's data.  Returns the number of bytes.  0: the group is empty, or the data are
 * damaged.
 */
static uint64_t
read_group(const qf_filter *view, uint64_t number, uint8_t *data, const qf_source *source)
{
	uint64_t table = qf_group_table(&view->params, view->ones);
	uint64_t last = table / 4;
	uint64_t first = number > 0 ? number - 1 : 0;
	uint64_t start = 0;
	uint64_t end = view->compact_bytes - table;
	uint64_t most = end;
	uint8_t ends[8] = { 0 };

	if (last > 0)
		source->read(source->context, QF_HEADER_BYTES + 4 * first,
					 number > 0 && number < last ? 8 : 4, ends);
	if (number > 0)
		start = qb_load32(ends);
	if (number < last)
		end = qb_load32(ends + 4 * (number - first));
	if (start >= end || end > most || end - start > QF_GROUP_BYTES)
		return 0;
	source->read(source->context, QF_HEADER_BYTES + table + start, (uint32_t) (end - start), data);
	return end - start;
}

/* Read the bits from "first" on, which are in one group, and write them in dense encoding. */
static void
read_compact(const qf_filter *view, uint32_t first, uint32_t bytes, uint8_t *bits,
			 const qf_source *source)
{
	uint64_t number = (uint64_t) first >> group_shift(view->params.m, view->ones);
	uint8_t data[QF_GROUP_BYTES];
	group g = group_of(view, number, data, read_group(view, number, data, source));
	uint32_t position;

	memset(bits, 0, bytes);
	while (next_bit(&g, &position) && position < first + UINT64_C(8) * bytes)
		if (position >= first)
			qf_set_bit(bits, position - first);
}

static void
read_bits(const qf_filter *view, uint32_t first, uint32_t bytes, uint8_t *bits,
		  const qf_source *source)
{
	if (view->encoding == QF_ENCODING_COMPACT)
		read_compact(view, first, bytes, bits, source);
	else
		source->read(source->context, QF_HEADER_BYTES + first / 8, bytes, bits);
}

/* Return how many positions of h are set in its block. */
static uint32_t
count_block(const qf_filter *view, uint64_t h, const qf_source *source)
{
	uint8_t block[QF_BLOCK_BITS / 8];
	qf_params p = view->params;
	uint32_t set = 0;
	uint32_t j;

	read_bits(view, qf_block(h, p.m), sizeof(block), block, source);
	p.m = QF_BLOCK_BITS;
	for (j = 0; j < p.k; j++)
		set += qf_bit(block, qf_any_position(&p, h, j));
	return set;
}

uint32_t
qf_count_stored(const qf_filter *view, uint64_t h, bool all, const qf_source *source)
{
	uint32_t set = 0;
	uint32_t j;

	if (view->params.layout == QF_BLOCKED)
		return count_block(view, h, source);
	for (j = 0; j < view->params.k && (set == j || !all); j++)
	{
		uint32_t position = qf_position(h, j, view->params.m);
		uint8_t byte;

		read_bits(view, position / 8 * 8, 1, &byte, source);
		set += qf_bit(&byte, position % 8);
	}
	return set;
}

static void
read_memory(void *context, uint64_t offset, uint32_t bytes, uint8_t *out)
{
	memcpy(out, (const uint8_t *) context + offset, bytes);
}

uint32_t
qf_count_compact(const qf_filter *view, uint64_t h, bool all)
{
	/* No function writes to a view, so casting const away is safe. */
	qf_source source = { .read = read_memory,
						 .context = (uint8_t *) (uintptr_t) view->compact - QF_HEADER_BYTES };

	return qf_count_stored(view, h, all, &source);
}
