/*
 * format.c
 *		The byte format of a filter: writing, opening, validating.
 *
 * src/filter/format.c
 */
#include "base/crc32c.h"
#include "filter/compact.h"
#include "filter/format.h"

enum
{
	AT_VERSION = 3,
	AT_ENCODING = 4,
	AT_LAYOUT = 5,
	AT_RESERVED = 6,
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

	if (!qf_compact_fits(f, &compact))
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
	qb_store64(out + AT_ROWS, (uint64_t) f->rows);
	qb_store64(out + AT_Q, f->params.q);
	qb_store32(out + AT_ONES, (uint32_t) f->ones);
}

/* A list is written dense if its bits crowd together, which hashes do not. */
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
qf_write_flat(const qf_filter *f, const qf_flat *flat, uint8_t *out)
{
	write_header(f, flat->encoding, out);
	if (flat->encoding == QF_ENCODING_COMPACT)
		qf_compact_write(f, out + QF_HEADER_BYTES);
	else
		write_dense(f, out + QF_HEADER_BYTES);
	qb_store32(out + AT_CRC, qb_checksum(out, flat->bytes, AT_CRC));
}

/* Do the numbers of rows and of set bits and the family of keys fit each other? */
static bool
state_fits(const qf_filter *f)
{
	if (f->rows < QF_ROWS_UNKNOWN || f->ones > f->params.m)
		return false;
	if (f->rows == 0)
		return f->ones == 0 && f->keys.family == 0 && f->keys.collation == 0;
	if (f->keys.family == 0)
		return false;
	if (qf_is_bloom(&f->params))
		return f->rows == QF_ROWS_UNKNOWN && f->ones > 0;
	return f->rows == QF_ROWS_UNKNOWN || (f->ones - 1) / f->params.k < (uint64_t) f->rows ||
		   f->ones == 0;
}

/* Does a body of so many bytes fit the header's encoding?  If so, the view takes it. */
static qb_status
open_body(qf_filter *view, const uint8_t *body, uint64_t bytes)
{
	if (view->encoding == QF_ENCODING_COMPACT)
	{
		view->compact = body;
		view->compact_bytes = bytes;
		return qf_compact_plausible(view, bytes) ? QB_OK : QB_FORMAT_LENGTH;
	}
	if (view->encoding != QF_DENSE)
		return QB_FORMAT_PARAMS;
	/* A view is never written to; it shares its type with owned filters. */
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
	if (qf_ones(f->bits, words) != f->ones || qf_compact_fits(f, &compact))
		return QB_FORMAT_BITS;
	return QB_OK;
}

qb_status
qf_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory)
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
	return qf_compact_check(&view) ? QB_OK : QB_FORMAT_BITS;
}

qb_status
qf_validate(const uint8_t *bytes, uint64_t length)
{
	return qf_validate_pausing(bytes, length, NULL);
}
