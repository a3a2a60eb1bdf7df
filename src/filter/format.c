/*
 * format.c
 *		The byte format of a filter: writing, opening, validating.
 *
 * src/filter/format.c
 */
#include "base/crc32c.h"
#include "filter/format.h"

enum
{
	AT_VERSION = 3,
	AT_FORM = 4,
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

static const char magic[3] = { 'P', 'B', 'F' };

/* The form in which a filter with this many set bits is written, whatever its form in memory. */
static uint8_t
canonical_form(const qf_params *p, uint64_t ones)
{
	return ones <= qf_explicit_limit(p) ? QF_EXPLICIT : QF_DENSE;
}

static uint64_t
body_bytes(const qf_params *p, uint8_t form, uint64_t ones)
{
	return form == QF_EXPLICIT ? ones * 4 : qf_words(p) * 8;
}

uint64_t
qf_flat_size(const qf_filter *f)
{
	return QF_HEADER_BYTES + body_bytes(&f->params, canonical_form(&f->params, f->ones), f->ones);
}

uint64_t
qf_dense_size(const qf_params *p)
{
	return QF_HEADER_BYTES + body_bytes(p, QF_DENSE, 0);
}

static void
write_header(const qf_filter *f, uint8_t *out)
{
	memset(out, 0, QF_HEADER_BYTES);
	memcpy(out, magic, sizeof(magic));
	out[AT_VERSION] = QF_FORMAT_VERSION_1;
	out[AT_FORM] = canonical_form(&f->params, f->ones);
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

/* Write the positions of a dense filter that has few set bits, as halving can leave it. */
static void
write_positions(const qf_filter *f, uint8_t *out)
{
	uint64_t i;

	for (i = 0; i < qf_words(&f->params); i++)
	{
		uint64_t w;

		for (w = qb_load64(f->bits + i * 8); w != 0; w &= w - 1, out += 4)
			qb_store32(out, (uint32_t) (i * 64) + (uint32_t) __builtin_ctzll(w));
	}
}

void
qf_write(const qf_filter *f, uint8_t *out)
{
	uint8_t *body = out + QF_HEADER_BYTES;

	write_header(f, out);
	if (f->form == QF_EXPLICIT)
		qf_explicit_write(f, body);
	else if (out[AT_FORM] == QF_EXPLICIT)
		write_positions(f, body);
	else
		memcpy(body, f->bits, qf_words(&f->params) * 8);
	qb_store32(out + AT_CRC, qb_checksum(out, qf_flat_size(f), AT_CRC));
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
	view->form = bytes[AT_FORM];
	view->keys.family = qb_load32(bytes + AT_FAMILY);
	view->keys.collation = qb_load32(bytes + AT_COLLATION);
	view->rows = (int64_t) qb_load64(bytes + AT_ROWS);
	view->ones = qb_load32(bytes + AT_ONES);
	if (!state_fits(view) || view->form != canonical_form(&p, view->ones))
		return QB_FORMAT_PARAMS;
	if (memcmp(bytes + AT_RESERVED, zero, sizeof(zero)) != 0)
		return QB_FORMAT_RESERVED;
	if (length != QF_HEADER_BYTES + body_bytes(&p, view->form, view->ones))
		return QB_FORMAT_LENGTH;
	/* A view is never written to; it shares its type with owned filters. */
	*(view->form == QF_EXPLICIT ? &view->positions : &view->bits) =
		(uint8_t *) (uintptr_t) bytes + QF_HEADER_BYTES;
	return QB_OK;
}

static bool
positions_ascend(const qf_filter *f)
{
	uint64_t next = 0; /* the smallest position that may come next */
	uint64_t i;

	for (i = 0; i < f->ones; i++)
	{
		uint32_t position = qb_load32(f->positions + i * 4);

		if (position < next)
			return false;
		next = position + UINT64_C(1);
	}
	return next <= f->params.m;
}

static qb_status
check_bits(const qf_filter *f)
{
	uint64_t words = qf_words(&f->params);
	uint64_t last = qb_load64(f->bits + (words - 1) * 8);

	if (f->params.m % 64 != 0 && last >> f->params.m % 64 != 0)
		return QB_FORMAT_RESERVED;
	return qf_ones(f->bits, words) == f->ones ? QB_OK : QB_FORMAT_BITS;
}

qb_status
qf_validate(const uint8_t *bytes, uint64_t length)
{
	qf_filter view;
	qb_status status = qf_open(&view, bytes, length);

	if (status != QB_OK)
		return status;
	if (qb_load32(bytes + AT_CRC) != qb_checksum(bytes, length, AT_CRC))
		return QB_FORMAT_CRC;
	if (view.form == QF_EXPLICIT)
		return positions_ascend(&view) ? QB_OK : QB_FORMAT_BITS;
	return check_bits(&view);
}
