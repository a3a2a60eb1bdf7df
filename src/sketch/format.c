/*
 * format.c
 *		The byte format of a sketch: writing, opening, validating.
 *
 * src/sketch/format.c
 */
#include "base/crc32c.h"
#include "sketch/explicit.h"
#include "sketch/format.h"

enum
{
	AT_VERSION = 3,
	AT_STRUCTURE = 4,
	AT_FORM = 5,
	AT_PART = 6,
	AT_COUNTER_BYTES = 7,
	AT_DEPTH = 8,
	AT_Z = 9,
	AT_LOG2_MASKS = 10,
	AT_RESERVED_1 = 11,
	AT_CRC = 12,
	AT_N = 16,
	AT_SEED = 24,
	AT_FAMILY = 32,
	AT_COLLATION = 36,
	AT_TOTAL = 40,
	AT_USED = 48,
	AT_RESERVED_2 = 56
};

static const char magic[3] = { 'Q', 'S', 'K' };

/* Width of the counters in serialized bytes: what N needs, whatever their width in memory. */
static bool
canonical_wide(const qs_sketch *sk)
{
	return sk->total >= QS_WIDE_TOTAL;
}

/* How many entries or high buckets will be written. */
static uint64_t
used_count(const qs_sketch *sk)
{
	if (sk->form == QS_EXPLICIT)
		return sk->used;
	return sk->ops->live_extra ? sk->ops->live_extra(sk) : 0;
}

static uint64_t
body_bytes(const qs_sketch *sk, bool wide, uint64_t used)
{
	if (sk->form == QS_EXPLICIT)
		return used * sizeof(qs_entry);
	return sk->ops->table_bytes(&sk->params, wide) +
		   sk->ops->extra_bytes(&sk->params, wide) * (sk->ops->live_extra ? used : 1);
}

uint64_t
qs_flat_size(const qs_sketch *sk)
{
	return QS_HEADER_BYTES + body_bytes(sk, canonical_wide(sk), used_count(sk));
}

uint64_t
qs_dense_size(const qs_params *p, bool wide)
{
	qs_sketch sk;

	qs_init(&sk, p, NULL);
	sk.form = QS_DENSE;
	return QS_HEADER_BYTES + body_bytes(&sk, wide, 0);
}

static void
write_header(const qs_sketch *sk, uint64_t used, uint8_t *out)
{
	bool dense = sk->form == QS_DENSE;

	memset(out, 0, QS_HEADER_BYTES);
	memcpy(out, magic, sizeof(magic));
	out[AT_VERSION] = QS_FORMAT_VERSION_1;
	out[AT_STRUCTURE] = sk->params.structure;
	out[AT_FORM] = sk->form;
	out[AT_PART] = sk->params.part;
	out[AT_COUNTER_BYTES] = dense ? (canonical_wide(sk) ? 8 : 4) : 0;
	out[AT_DEPTH] = sk->params.depth;
	out[AT_Z] = sk->params.z;
	out[AT_LOG2_MASKS] = sk->params.log2_masks;
	qb_store64(out + AT_N, sk->params.n);
	qb_store64(out + AT_SEED, sk->params.seed);
	qb_store32(out + AT_FAMILY, sk->keys.family);
	qb_store32(out + AT_COLLATION, sk->keys.collation);
	qb_store64(out + AT_TOTAL, (uint64_t) sk->total);
	qb_store64(out + AT_USED, used);
}

void
qs_write(const qs_sketch *sk, uint8_t *out)
{
	uint64_t used = used_count(sk); /* counts high buckets one by one */

	write_header(sk, used, out);
	if (sk->form == QS_EXPLICIT)
		qs_explicit_write(sk, out + QS_HEADER_BYTES);
	else
		sk->ops->write(sk, canonical_wide(sk), out + QS_HEADER_BYTES);
	qb_store32(
		out + AT_CRC,
		qb_checksum(out, QS_HEADER_BYTES + body_bytes(sk, canonical_wide(sk), used), AT_CRC));
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

/* Read the fields other than the parameters.  Do they fit the parameters and each other? */
static qb_status
read_state(qs_sketch *view, const uint8_t *bytes, uint64_t *used)
{
	uint8_t counter_bytes = bytes[AT_COUNTER_BYTES];

	view->form = bytes[AT_FORM];
	view->wide = counter_bytes == 8;
	view->keys.family = qb_load32(bytes + AT_FAMILY);
	view->keys.collation = qb_load32(bytes + AT_COLLATION);
	view->total = (int64_t) qb_load64(bytes + AT_TOTAL);
	*used = qb_load64(bytes + AT_USED);

	if (view->total < 0 ||
		(view->keys.family == 0 && (view->total > 0 || view->keys.collation != 0)))
		return QB_FORMAT_PARAMS;
	if (view->form == QS_EXPLICIT)
		return counter_bytes == 0 && view->params.part != QS_PART_DEVICE &&
					   *used <= qs_explicit_limit(&view->params)
				   ? QB_OK
				   : QB_FORMAT_PARAMS;
	if (view->form != QS_DENSE || counter_bytes != (canonical_wide(view) ? 8 : 4))
		return QB_FORMAT_PARAMS;
	if (*used > (view->ops->live_extra ? view->params.n : 0))
		return QB_FORMAT_PARAMS;
	return QB_OK;
}

/* Point the tables of a view into the body. */
static void
set_tables(qs_sketch *view, uint8_t *body, uint64_t used)
{
	uint64_t table = view->ops->table_bytes(&view->params, view->wide);

	if (view->form == QS_EXPLICIT)
	{
		view->entries = body;
		view->used = used;
		return;
	}
	if (table > 0)
		view->table = body;
	if (view->ops->extra_bytes(&view->params, view->wide) > 0)
		view->extra = body + table;
	view->extra_used = used;
}

qb_status
qs_open(qs_sketch *view, const uint8_t *bytes, uint64_t length)
{
	qs_params p;
	uint64_t used;
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
	status = read_state(view, bytes, &used);
	if (status != QB_OK)
		return status;
	if (bytes[AT_RESERVED_1] != 0 || qb_load32(bytes + AT_RESERVED_2) != 0)
		return QB_FORMAT_RESERVED;
	if (length != QS_HEADER_BYTES + body_bytes(view, view->wide, used))
		return QB_FORMAT_LENGTH;
	/* A view is never written to; it shares its type with owned sketches. */
	set_tables(view, (uint8_t *) (uintptr_t) bytes + QS_HEADER_BYTES, used);
	return QB_OK;
}

qb_status
qs_validate(const uint8_t *bytes, uint64_t length)
{
	qs_sketch view;
	qb_status status = qs_open(&view, bytes, length);

	if (status != QB_OK)
		return status;
	if (qb_load32(bytes + AT_CRC) != qb_checksum(bytes, length, AT_CRC))
		return QB_FORMAT_CRC;
	if (view.form == QS_EXPLICIT)
		return qs_explicit_check(&view) ? QB_OK : QB_FORMAT_ENTRIES;
	return view.ops->check(&view) ? QB_OK : QB_FORMAT_COUNTERS;
}
