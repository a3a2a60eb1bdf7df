/*
 * format.c
 *		The byte format of a collection of sets.
 *
 * src/sets/format.c
 */
#include "sets/collection.h"

#include "base/crc32c.h"

enum
{
	AT_VERSION = 3,
	AT_KIND = 4,
	AT_TEXT = 5,
	AT_RESERVED_1 = 6,
	AT_CRC = 12,
	AT_FAMILY = 16,
	AT_COLLATION = 20,
	AT_SETS = 24,
	AT_ELEMENTS = 32,
	AT_UNIVERSE = 40,
	AT_BODY = 48,
	AT_RESERVED_2 = 56,

	KIND_INTEGERS = 1,
	KIND_FINGERPRINTS = 2,

	LONGEST_NUMBER = 10
};

static const char magic[3] = { 'Q', 'S', 'S' };

/* The destination and the number of written bytes.  If p is NULL, bytes are only counted. */
typedef struct writer
{
	uint8_t *p;
	uint64_t length;
} writer;

static void
put_fixed(writer *w, uint64_t x)
{
	if (w->p)
		qb_store64(w->p + w->length, x);
	w->length += 8;
}

static void
put_number(writer *w, uint64_t x)
{
	for (; x >= 128; x >>= 7)
	{
		if (w->p)
			w->p[w->length] = (uint8_t) (x | 128);
		w->length++;
	}
	if (w->p)
		w->p[w->length] = (uint8_t) x;
	w->length++;
}

/*
 * Write the next number of an ascending sequence: the first number in full, each later number as a
 * distance.
 */
static void
put_next(writer *w, uint64_t i, uint64_t x, uint64_t before)
{
	if (i == 0)
		put_fixed(w, x);
	else
		put_number(w, x - before - 1);
}

static void
put_body(writer *w, const qset_collection *c)
{
	uint64_t set;
	uint64_t i;

	for (i = 0; i < c->universe; i++)
	{
		if (c->wide)
		{
			put_fixed(w, c->high[i]);
			put_fixed(w, c->low[i]);
		}
		else
			put_next(w, i, c->low[i], i > 0 ? c->low[i - 1] : 0);
	}
	for (set = 0; set < c->sets; set++)
	{
		put_next(w, set, (uint64_t) c->id[set], set > 0 ? (uint64_t) c->id[set - 1] : 0);
		put_number(w, c->offset[set + 1] - c->offset[set] - 1);
		put_number(w, c->rank[c->offset[set]]);
		for (i = c->offset[set] + 1; i < c->offset[set + 1]; i++)
			put_number(w, c->rank[i] - c->rank[i - 1] - 1);
	}
}

uint64_t
qset_flat_size(const qset_collection *c)
{
	writer w = { NULL, QSET_HEADER_BYTES };

	put_body(&w, c);
	return w.length;
}

void
qset_write(const qset_collection *c, uint8_t *out)
{
	writer w = { out, QSET_HEADER_BYTES };

	memset(out, 0, QSET_HEADER_BYTES);
	memcpy(out, magic, sizeof(magic));
	out[AT_VERSION] = QSET_FORMAT_VERSION;
	out[AT_KIND] = c->wide ? KIND_FINGERPRINTS : KIND_INTEGERS;
	qb_store32(out + AT_FAMILY, c->keys.family);
	qb_store32(out + AT_COLLATION, c->keys.collation);
	out[AT_TEXT] = (uint8_t) c->keys.text;
	qb_store64(out + AT_SETS, c->sets);
	qb_store64(out + AT_ELEMENTS, c->elements);
	qb_store64(out + AT_UNIVERSE, c->universe);
	put_body(&w, c);
	qb_store64(out + AT_BODY, w.length - QSET_HEADER_BYTES);
	qb_store32(out + AT_CRC, qb_checksum(out, w.length, AT_CRC));
}

/* ---- reading ---- */

/* Bytes that are still to be read; "bad" is true after a broken rule. */
typedef struct reader
{
	const uint8_t *p;
	const uint8_t *end;
	bool bad;
} reader;

static uint64_t
get_fixed(reader *r)
{
	uint64_t x = 0;

	if (r->end - r->p < 8)
		r->bad = true;
	else
	{
		x = qb_load64(r->p);
		r->p += 8;
	}
	return x;
}

/* Read a number that has more than one byte, or is cut off by the end of the bytes. */
static uint64_t
get_long_number(reader *r)
{
	uint64_t x = 0;
	int i;

	for (i = 0; i < LONGEST_NUMBER && r->p < r->end; i++)
	{
		uint8_t byte = *r->p++;

		if (i == LONGEST_NUMBER - 1 && byte > 1)
			break; /* more than 64 bits */
		x |= (uint64_t) (byte & 127) << i * 7;
		if (byte < 128)
		{
			if (byte == 0 && i > 0)
				break; /* the number is longer than necessary */
			return x;
		}
	}
	r->bad = true;
	return 0;
}

QB_INLINE uint64_t
get_number(reader *r)
{
	if (r->p < r->end && *r->p < 128)
		return *r->p++;
	return get_long_number(r);
}

/*
 * Read the next number of an ascending sequence of signed numbers; "before" is the number before.
 */
static int64_t
get_next(reader *r, uint64_t i, int64_t before)
{
	uint64_t gap;

	if (i == 0)
		return (int64_t) get_fixed(r);
	gap = get_number(r);
	if (gap >= (uint64_t) INT64_MAX - (uint64_t) before)
		r->bad = true;
	return (int64_t) ((uint64_t) before + gap + 1);
}

static qb_status
read_universe(reader *r, qset_collection *c)
{
	uint64_t i;

	for (i = 0; i < c->universe && !r->bad; i++)
	{
		qset_pause_at(c->memory, i);
		if (!c->wide)
		{
			c->low[i] = (uint64_t) get_next(r, i, i > 0 ? (int64_t) c->low[i - 1] : 0);
			continue;
		}
		c->high[i] = get_fixed(r);
		c->low[i] = get_fixed(r);
		if (i > 0 && qset_element_compare(c, i - 1, c, i) >= 0)
			r->bad = true;
	}
	return r->bad ? QB_FORMAT_ENTRIES : QB_OK;
}

static void
read_ranks(reader *r, qset_collection *c, uint64_t at, uint64_t size, uint8_t *seen)
{
	uint64_t rank = 0;
	uint64_t i;

	for (i = 0; i < size && !r->bad; i++)
	{
		uint64_t gap = get_number(r);

		if (gap >= c->universe)
		{
			r->bad = true;
			return;
		}
		rank = i > 0 ? rank + gap + 1 : gap;
		if (rank >= c->universe)
		{
			r->bad = true;
			return;
		}
		c->rank[at + i] = (uint32_t) rank;
		seen[rank] = 1;
	}
}

static qb_status
read_sets(reader *r, qset_collection *c, uint8_t *seen)
{
	uint64_t steps = 0;
	uint64_t set;
	uint64_t i;

	for (set = 0; set < c->sets && !r->bad; set++)
	{
		uint64_t at = c->offset[set];
		uint64_t size;

		c->id[set] = get_next(r, set, set > 0 ? c->id[set - 1] : 0);
		size = get_number(r);
		if (r->bad || size >= c->elements - at)
			return QB_FORMAT_ENTRIES;
		c->offset[set + 1] = at + size + 1;
		read_ranks(r, c, at, size + 1, seen);
		qb_pause_after(c->memory, &steps, size + 1);
	}
	if (r->bad || r->p != r->end || c->offset[c->sets] != c->elements)
		return QB_FORMAT_ENTRIES;
	for (i = 0; i < c->universe; i++)
		if (!seen[i])
			return QB_FORMAT_ENTRIES;
	return QB_OK;
}

static bool
reserved_bits_zero(const uint8_t *bytes)
{
	int i;

	for (i = AT_RESERVED_1; i < AT_CRC; i++)
		if (bytes[i] != 0)
			return false;
	return qb_load64(bytes + AT_RESERVED_2) == 0;
}

/*
 * True if the sizes are within the limits and agree with each other, and the body may be long
 * enough.  A set takes at least two bytes in addition to the bytes of its elements.
 */
static bool
sizes_possible(const qset_collection *c, uint64_t body)
{
	if (c->sets > QSET_MAX_SETS || c->universe > QSET_MAX_UNIVERSE ||
		c->elements > QSET_MAX_ELEMENTS || c->sets > c->elements || c->universe > c->elements)
		return false;
	if (c->elements > 0 && (c->sets == 0 || c->universe == 0))
		return false;
	return c->elements + 2 * c->sets + c->universe * (c->wide ? 16 : 1) <= body;
}

static qb_status
read_header(qset_collection *c, const uint8_t *bytes, uint64_t length)
{
	uint8_t kind;

	memset(c, 0, sizeof(*c));
	if (length < QSET_HEADER_BYTES)
		return QB_FORMAT_SHORT;
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return QB_FORMAT_MAGIC;
	if (bytes[AT_VERSION] != QSET_FORMAT_VERSION)
		return QB_FORMAT_VERSION;
	kind = bytes[AT_KIND];
	c->wide = kind == KIND_FINGERPRINTS;
	c->keys.family = qb_load32(bytes + AT_FAMILY);
	c->keys.collation = qb_load32(bytes + AT_COLLATION);
	c->keys.text = bytes[AT_TEXT];
	c->sets = qb_load64(bytes + AT_SETS);
	c->elements = qb_load64(bytes + AT_ELEMENTS);
	c->universe = qb_load64(bytes + AT_UNIVERSE);
	if ((kind != KIND_INTEGERS && kind != KIND_FINGERPRINTS) || !qb_keys_valid(&c->keys) ||
		(qb_keys_none(&c->keys) && (c->sets > 0 || c->wide)))
		return QB_FORMAT_PARAMS;
	if (!reserved_bits_zero(bytes))
		return QB_FORMAT_RESERVED;
	if (qb_load64(bytes + AT_BODY) != length - QSET_HEADER_BYTES ||
		!sizes_possible(c, length - QSET_HEADER_BYTES))
		return QB_FORMAT_LENGTH;
	return qb_checksum(bytes, length, AT_CRC) == qb_load32(bytes + AT_CRC) ? QB_OK : QB_FORMAT_CRC;
}

void
qset_read_sizes(const uint8_t *header, qset_collection *sizes)
{
	*sizes = (qset_collection){ .wide = header[AT_KIND] == KIND_FINGERPRINTS };
	sizes->keys.family = qb_load32(header + AT_FAMILY);
	sizes->keys.collation = qb_load32(header + AT_COLLATION);
	sizes->keys.text = header[AT_TEXT];
	sizes->sets = qb_load64(header + AT_SETS);
	sizes->elements = qb_load64(header + AT_ELEMENTS);
	sizes->universe = qb_load64(header + AT_UNIVERSE);
}

qb_status
qset_read(qset_collection *c, const uint8_t *bytes, uint64_t length, const qb_memory *memory)
{
	qb_status status = read_header(c, bytes, length);
	reader r = { bytes + QSET_HEADER_BYTES, bytes + length, false };
	uint8_t *seen;

	if (status != QB_OK)
		return status;
	status = qset_collection_alloc(c, memory);
	if (status != QB_OK)
		return status;
	seen = qset_alloc(memory, c->universe, 1);
	status = seen ? read_universe(&r, c) : QB_NO_MEMORY;
	if (status == QB_OK)
		status = read_sets(&r, c, seen);
	qset_release(memory, seen);
	if (status != QB_OK)
		qset_collection_free(c);
	return status;
}
