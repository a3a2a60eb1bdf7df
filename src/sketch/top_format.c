/*
 * top_format.c
 *		The byte format of a sketch with its most frequent keys.
 *
 * src/sketch/top_format.c
 */
#include "base/crc32c.h"
#include "sketch/top.h"

enum
{
	AT_N = 4,
	AT_CRC = 8,
	AT_TEXTS = 12,
	AT_ENCODING = 13,
	AT_RESERVED_1 = 14,
	AT_BOUND = 16,
	AT_SKETCH = 24,
	AT_COUNT = 32,
	AT_TEXT_BYTES = 40,
	AT_RESERVED_2 = 48
};

static const char magic[3] = { 'Q', 'T', 'P' };

static uint64_t
text_bytes(const qs_top *top)
{
	uint64_t bytes = 0;
	uint64_t i;

	for (i = 0; i < top->count; i++)
		bytes += qs_top_get(top, i).length;
	return bytes;
}

uint64_t
qs_top_flat_size(const qs_top *top, const qs_flat *sketch)
{
	return QS_TOP_HEADER_BYTES + sketch->bytes + top->count * QS_TOP_ENTRY_BYTES + text_bytes(top);
}

static void
write_header(const qs_top *top, uint64_t sketch_bytes, uint64_t texts, uint8_t *out)
{
	bool has_texts = top->texts && top->count > 0;

	memset(out, 0, QS_TOP_HEADER_BYTES);
	memcpy(out, magic, sizeof(magic));
	out[QS_TOP_AT_VERSION] = QS_TOP_FORMAT_VERSION_1;
	qb_store32(out + AT_N, top->n);
	out[AT_TEXTS] = has_texts;
	out[AT_ENCODING] = has_texts ? top->encoding : 0;
	qb_store64(out + AT_BOUND, (uint64_t) top->bound);
	qb_store64(out + AT_SKETCH, sketch_bytes);
	qb_store64(out + AT_COUNT, top->count);
	qb_store64(out + AT_TEXT_BYTES, texts);
}

static void
write_keys(const qs_top *top, uint8_t *entry, uint8_t *text)
{
	uint64_t end = 0;
	uint64_t i;

	for (i = 0; i < top->count; i++, entry += QS_TOP_ENTRY_BYTES)
	{
		qs_top_key key = qs_top_get(top, i);

		if (key.length > 0)
			memcpy(text + end, key.text, key.length);
		end += key.length;
		qb_store64(entry, key.fingerprint);
		qb_store64(entry + QS_TOP_ENTRY_LOWER, (uint64_t) key.lower);
		qb_store64(entry + QS_TOP_ENTRY_BEFORE, (uint64_t) key.before);
		qb_store64(entry + QS_TOP_ENTRY_END, end);
	}
}

void
qs_top_write(const qs_top *top, const qs_sketch *sk, const qs_flat *flat, uint8_t *out)
{
	uint64_t sketch_bytes = flat->bytes;
	uint64_t texts = text_bytes(top);
	uint8_t *entries = out + QS_TOP_HEADER_BYTES + sketch_bytes;

	write_header(top, sketch_bytes, texts, out);
	qs_write_flat(sk, flat, out + QS_TOP_HEADER_BYTES);
	write_keys(top, entries, entries + top->count * QS_TOP_ENTRY_BYTES);
	qb_store32(out + AT_CRC, qb_checksum(out,
										 QS_TOP_HEADER_BYTES + sketch_bytes +
											 top->count * QS_TOP_ENTRY_BYTES + texts,
										 AT_CRC));
}

/* The header's own fields. */
static qb_status
read_header(qs_top *view, const uint8_t *bytes)
{
	static const uint8_t zeros[QS_TOP_HEADER_BYTES - AT_RESERVED_2];

	view->n = qb_load32(bytes + AT_N);
	view->bound = (int64_t) qb_load64(bytes + AT_BOUND);
	view->count = qb_load64(bytes + AT_COUNT);
	view->texts = bytes[AT_TEXTS];
	view->encoding = bytes[AT_ENCODING];
	if (view->n < 1 || view->n > QS_TOP_MAX || bytes[AT_TEXTS] > 1 || view->bound < 0 ||
		(view->texts ? view->count == 0 : view->encoding != 0))
		return QB_FORMAT_PARAMS;
	if (memcmp(bytes + AT_RESERVED_1, zeros, AT_BOUND - AT_RESERVED_1) != 0 ||
		memcmp(bytes + AT_RESERVED_2, zeros, sizeof(zeros)) != 0)
		return QB_FORMAT_RESERVED;
	return QB_OK;
}

/* Do header and sketch agree? */
static bool
fits_sketch(const qs_top *view, const qs_sketch *sketch)
{
	if (view->bound > sketch->total)
		return false;
	if (sketch->encoding == QS_EXPLICIT)
		return view->count == sketch->used && view->bound == 0;
	return view->count <= qs_top_capacity(view->n);
}

/* Read entries and texts, which are the rest of the bytes; texts follow one another to the end. */
static qb_status
read_keys(qs_top *view, const uint8_t *bytes, uint64_t length, uint64_t texts)
{
	uint64_t end = 0;
	uint64_t i;

	if (texts > length || length - texts != view->count * QS_TOP_ENTRY_BYTES ||
		(!view->texts && texts > 0))
		return QB_FORMAT_LENGTH;
	view->entries = bytes;
	view->text = bytes + view->count * QS_TOP_ENTRY_BYTES;
	for (i = 0; i < view->count; i++)
	{
		uint64_t next = qb_load64(qs_top_entry_at(view, i) + QS_TOP_ENTRY_END);

		if (next < end || next > texts || next - end > UINT32_MAX)
			return QB_FORMAT_LENGTH;
		end = next;
	}
	return end == texts ? QB_OK : QB_FORMAT_LENGTH;
}

qb_status
qs_top_open(qs_top *view, qs_sketch *sketch, const uint8_t *bytes, uint64_t length)
{
	uint64_t sketch_bytes;
	qb_status status;

	memset(view, 0, sizeof(*view));
	view->view = true;
	if (length < QS_TOP_HEADER_BYTES)
		return QB_FORMAT_SHORT;
	if (memcmp(bytes, magic, sizeof(magic)) != 0)
		return QB_FORMAT_MAGIC;
	if (bytes[QS_TOP_AT_VERSION] != QS_TOP_FORMAT_VERSION_1)
		return QB_FORMAT_VERSION;
	status = read_header(view, bytes);
	if (status != QB_OK)
		return status;
	sketch_bytes = qb_load64(bytes + AT_SKETCH);
	length -= QS_TOP_HEADER_BYTES;
	if (sketch_bytes > length)
		return QB_FORMAT_LENGTH;
	status = qs_open(sketch, bytes + QS_TOP_HEADER_BYTES, sketch_bytes);
	if (status != QB_OK)
		return status;
	if (!fits_sketch(view, sketch))
		return QB_FORMAT_PARAMS;
	return read_keys(view, bytes + QS_TOP_HEADER_BYTES + sketch_bytes, length - sketch_bytes,
					 qb_load64(bytes + AT_TEXT_BYTES));
}

/*
 * Are keys ascending, counts positive, and bounds within the sketch's estimates?
 * With an explicit sketch they must be exact.
 */
static bool
keys_are_sound(const qs_top *view, const qs_sketch *sketch, const qb_memory *memory)
{
	int64_t rest = sketch->total;
	uint64_t previous = 0;
	uint64_t i;

	for (i = 0; i < view->count; i++)
	{
		qs_top_key key = qs_top_get(view, i);
		int64_t estimate;

		qb_pause(memory); /* an estimate may have to pass many blocks of a compact sketch */
		estimate = qs_estimate(sketch, key.fingerprint);

		if ((i > 0 && key.fingerprint <= previous) || key.lower < 1 || key.lower > rest ||
			key.lower > estimate || key.before < 0 || key.before > estimate - key.lower)
			return false;
		if (sketch->encoding == QS_EXPLICIT && key.lower != estimate)
			return false;
		rest -= key.lower;
		previous = key.fingerprint;
	}
	return true;
}

qb_status
qs_top_validate(const uint8_t *bytes, uint64_t length)
{
	return qs_top_validate_pausing(bytes, length, NULL);
}

qb_status
qs_top_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory)
{
	qs_top view;
	qs_sketch sketch;
	uint64_t sketch_bytes;
	qb_status status = qs_top_open(&view, &sketch, bytes, length);

	if (status != QB_OK)
		return status;
	if (qb_load32(bytes + AT_CRC) != qb_checksum(bytes, length, AT_CRC))
		return QB_FORMAT_CRC;
	bytes = qs_top_sketch_bytes(bytes, &sketch_bytes);
	status = qs_validate_pausing(bytes, sketch_bytes, memory);
	if (status != QB_OK)
		return status;
	return keys_are_sound(&view, &sketch, memory) ? QB_OK : QB_FORMAT_ENTRIES;
}

const uint8_t *
qs_top_sketch_bytes(const uint8_t *bytes, uint64_t *length)
{
	*length = qb_load64(bytes + AT_SKETCH);
	return bytes + QS_TOP_HEADER_BYTES;
}
