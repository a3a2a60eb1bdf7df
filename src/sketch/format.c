/*
 * format.c
 *		The byte format of a sketch: writing, opening, validating.
 *
 * src/sketch/format.c
 */
#include "base/crc32c.h"
#include "sketch/compact_write.h"
#include "sketch/explicit.h"
#include "sketch/format.h"

enum
{
	AT_VERSION = 3,
	AT_STRUCTURE = 4,
	AT_ENCODING = 5,
	AT_PART = 6,
	AT_COUNTER_BYTES = 7,
	AT_DEPTH = 8,
	AT_Z = 9,
	AT_LOG2_MASKS = 10,
	AT_TEXT = 11,
	AT_CRC = 12,
	AT_N = 16,
	AT_SEED = 24,
	AT_FAMILY = 32,
	AT_COLLATION = 36,
	AT_TOTAL = 40,
	AT_USED = 48,
	AT_PRESENT = 56
};

static const char magic[3] = { 'Q', 'S', 'K' };

/*
 * True if serialized counters have 8 bytes.  The width of serialized counters depends on N, not on
 * the width of counters in memory.
 */
static bool
canonical_wide(const qs_sketch *sk)
{
	return sk->total >= QS_WIDE_TOTAL;
}

/* Chooses the encoding of a dense sketch from its parameters, N and counters. */
static qs_flat
flat_of_dense(const qs_sketch *sk, const uint64_t *presence)
{
	uint64_t high = sk->ops->live_extra ? sk->ops->live_extra(sk) : 0;
	qs_compact_size size = { .presence = presence };

	if (qs_compact_fits(sk, qs_tables_bytes(&sk->params, canonical_wide(sk), high), &size))
		return (qs_flat){ .encoding = QS_COMPACT,
						  .used = size.bytes,
						  .present = size.present,
						  .presence = presence };
	return (qs_flat){ .encoding = QS_DENSE, .used = high };
}

static uint64_t
body_bytes(const qs_sketch *sk, bool wide, const qs_flat *f)
{
	if (f->encoding == QS_EXPLICIT)
		return f->used * qs_entry_bytes(f->narrow);
	if (f->encoding == QS_COMPACT)
		return f->used;
	return qs_tables_bytes(&sk->params, wide, f->used);
}

qs_flat
qs_flat_of(const qs_sketch *sk)
{
	return qs_flat_present(sk, NULL);
}

qs_flat
qs_flat_present(const qs_sketch *sk, const uint64_t *presence)
{
	qs_flat flat = { .encoding = sk->encoding };

	if (sk->encoding == QS_DENSE)
		flat = flat_of_dense(sk, presence);
	else if (sk->encoding == QS_COMPACT)
	{
		flat.used = sk->compact_bytes;
		flat.present = sk->used;
	}
	else
		flat.used = sk->used;
	flat.bytes = QS_HEADER_BYTES + body_bytes(sk, canonical_wide(sk), &flat);
	return flat;
}

qs_flat
qs_flat_tables(const qs_sketch *sk)
{
	qs_flat flat = { .encoding = QS_DENSE };

	if (sk->encoding != QS_DENSE)
		return qs_flat_of(sk);
	if (sk->ops->live_extra)
		flat.used = sk->ops->live_extra(sk);
	flat.bytes = QS_HEADER_BYTES + body_bytes(sk, canonical_wide(sk), &flat);
	return flat;
}

qs_flat
qs_flat_listed(const qs_sketch *sk)
{
	qs_flat flat = qs_flat_of(sk);

	flat.narrow = flat.encoding == QS_EXPLICIT && !canonical_wide(sk);
	flat.bytes = QS_HEADER_BYTES + body_bytes(sk, canonical_wide(sk), &flat);
	return flat;
}

uint64_t
qs_dense_size(const qs_params *p, bool wide)
{
	return QS_HEADER_BYTES + qs_tables_bytes(p, wide, 0);
}

/* Returns the header field "counter bytes". */
static uint8_t
counter_bytes(const qs_sketch *sk, const qs_flat *f)
{
	if (f->encoding == QS_EXPLICIT)
		return f->narrow ? 4 : 0;
	return canonical_wide(sk) ? 8 : 4;
}

static void
write_header(const qs_sketch *sk, const qs_flat *f, uint8_t *out)
{
	memset(out, 0, QS_HEADER_BYTES);
	memcpy(out, magic, sizeof(magic));
	out[AT_VERSION] = QS_FORMAT_VERSION_1;
	out[AT_STRUCTURE] = sk->params.structure;
	out[AT_ENCODING] = f->encoding;
	out[AT_PART] = sk->params.part;
	out[AT_COUNTER_BYTES] = counter_bytes(sk, f);
	out[AT_DEPTH] = sk->params.depth;
	out[AT_Z] = sk->params.z;
	out[AT_LOG2_MASKS] = sk->params.log2_masks;
	qb_store64(out + AT_N, sk->params.n);
	qb_store64(out + AT_SEED, sk->params.seed);
	qb_store32(out + AT_FAMILY, sk->keys.family);
	qb_store32(out + AT_COLLATION, sk->keys.collation);
	out[AT_TEXT] = (uint8_t) sk->keys.text;
	qb_store64(out + AT_TOTAL, (uint64_t) sk->total);
	qb_store64(out + AT_USED, f->used);
	qb_store32(out + AT_PRESENT, (uint32_t) f->present);
}

static void
write_body(const qs_sketch *sk, const qs_flat *f, uint8_t *out)
{
	qs_compact_size size = { .present = f->present, .bytes = f->used, .presence = f->presence };

	if (sk->encoding == QS_EXPLICIT)
		qs_explicit_write(sk, f->narrow, out);
	else if (sk->encoding == QS_COMPACT)
		memcpy(out, sk->compact, sk->compact_bytes);
	else if (f->encoding == QS_COMPACT)
		qs_compact_write(sk, &size, out);
	else
		sk->ops->write(sk, canonical_wide(sk), out);
}

void
qs_write_flat(const qs_sketch *sk, const qs_flat *flat, uint8_t *out)
{
	write_header(sk, flat, out);
	write_body(sk, flat, out + QS_HEADER_BYTES);
	qb_store32(out + AT_CRC, qb_checksum(out, flat->bytes, AT_CRC));
}

static qb_status
read_params(qs_params *p, const uint8_t *bytes)
{
	memset(p, 0, sizeof(*p));
	p->structure = bytes[AT_STRUCTURE];
	p->part = bytes[AT_PART];
	p->depth = bytes[AT_DEPTH];
	p->z = bytes[AT_Z];
	p->log2_masks = bytes[AT_LOG2_MASKS];
	p->n = qb_load64(bytes + AT_N);
	p->seed = qb_load64(bytes + AT_SEED);
	return qs_params_check(p) == QB_OK ? QB_OK : QB_FORMAT_PARAMS;
}

/* True if encoding, counter bytes and sizes match the parameters and each other. */
static bool
form_fits(const qs_sketch *view, uint8_t width, const qs_flat *f)
{
	if (width != counter_bytes(view, f) || (f->narrow && canonical_wide(view)))
		return false;
	if (f->encoding == QS_EXPLICIT)
		return view->params.part != QS_PART_DEVICE && f->used <= qs_explicit_limit(&view->params);
	if (f->encoding == QS_DENSE)
		return f->used <= (view->ops->live_extra ? view->params.n : 0);
	return f->encoding == QS_COMPACT;
}

/* Reads encoding, counter bytes, key type, N and sizes from the header, and checks them. */
static qb_status
read_state(qs_sketch *view, const uint8_t *bytes, qs_flat *f)
{
	uint8_t width = bytes[AT_COUNTER_BYTES];

	view->encoding = f->encoding = bytes[AT_ENCODING];
	view->wide = width == 8;
	view->narrow = f->narrow = f->encoding == QS_EXPLICIT && width == 4;
	view->keys.family = qb_load32(bytes + AT_FAMILY);
	view->keys.collation = qb_load32(bytes + AT_COLLATION);
	view->keys.text = bytes[AT_TEXT];
	view->total = (int64_t) qb_load64(bytes + AT_TOTAL);
	f->used = qb_load64(bytes + AT_USED);
	f->present = qb_load32(bytes + AT_PRESENT);

	if (view->total < 0 || !qb_keys_valid(&view->keys) ||
		(qb_keys_none(&view->keys) && view->total > 0))
		return QB_FORMAT_PARAMS;
	if (!form_fits(view, width, f))
		return QB_FORMAT_PARAMS;
	if (f->encoding != QS_COMPACT && f->present != 0)
		return QB_FORMAT_RESERVED;
	return QB_OK;
}

/* Points the tables of a view into the body. */
static void
set_tables(qs_sketch *view, uint8_t *body, const qs_flat *f)
{
	uint64_t table = qs_table_bytes(&view->params, view->wide);

	if (f->encoding == QS_EXPLICIT)
	{
		view->entries = body;
		view->used = f->used;
		return;
	}
	if (f->encoding == QS_COMPACT)
	{
		view->compact = body;
		view->compact_bytes = f->used;
		view->used = f->present;
		return;
	}
	if (table > 0)
		view->table = body;
	if (qs_extra_bytes(&view->params, view->wide) > 0)
		view->extra = body + table;
	view->extra_used = f->used;
}

qb_status
qs_open(qs_sketch *view, const uint8_t *bytes, uint64_t length)
{
	qs_params p;
	qs_flat f;
	qb_status status;

	if (length < QS_HEADER_BYTES)
		return QB_FORMAT_SHORT;
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return QB_FORMAT_MAGIC;
	if (bytes[AT_VERSION] != QS_FORMAT_VERSION_1)
		return QB_FORMAT_VERSION;
	status = read_params(&p, bytes);
	if (status != QB_OK)
		return status;
	qs_init(view, &p, NULL);
	view->view = true;
	status = read_state(view, bytes, &f);
	if (status != QB_OK)
		return status;
	if (length - QS_HEADER_BYTES != body_bytes(view, view->wide, &f))
		return QB_FORMAT_LENGTH;
	/* The cast is safe, because no function writes to a view. */
	set_tables(view, (uint8_t *) (uintptr_t) bytes + QS_HEADER_BYTES, &f);
	if (f.encoding == QS_COMPACT && !qs_compact_has_groups(view))
		return QB_FORMAT_LENGTH;
	return QB_OK;
}

static qb_status
validate(const uint8_t *bytes, uint64_t length, bool listed, const qb_memory *memory)
{
	qs_sketch view;
	qb_status status = qs_open(&view, bytes, length);

	if (status != QB_OK)
		return status;
	view.memory = memory;
	if (qb_load32(bytes + AT_CRC) != qb_checksum(bytes, length, AT_CRC))
		return QB_FORMAT_CRC;
	if (view.encoding == QS_EXPLICIT && view.narrow != (listed && !canonical_wide(&view)))
		return QB_FORMAT_PARAMS;
	if (view.encoding == QS_EXPLICIT)
		return qs_explicit_check(&view) ? QB_OK : QB_FORMAT_ENTRIES;
	if (view.encoding == QS_COMPACT)
		return qs_compact_check(&view) ? QB_OK : QB_FORMAT_COUNTERS;
	return view.ops->check(&view) && flat_of_dense(&view, NULL).encoding == QS_DENSE
			   ? QB_OK
			   : QB_FORMAT_COUNTERS;
}

qb_status
qs_validate(const uint8_t *bytes, uint64_t length)
{
	return validate(bytes, length, false, NULL);
}

qb_status
qs_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory)
{
	return validate(bytes, length, false, memory);
}

qb_status
qs_validate_listed(const uint8_t *bytes, uint64_t length, const qb_memory *memory)
{
	return validate(bytes, length, true, memory);
}
