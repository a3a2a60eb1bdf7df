/*
 * top_format.c
 *		The byte format of a sketch with its most frequent keys.
 *
 * src/sketch/top_format.c
 */
#include "base/crc32c.h"
#include "sketch/explicit.h"
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
	AT_RESERVED_2 = 48,

	ENCODING_UNKNOWN = 0,
	ENCODING_UTF8 = 6
};

static const char magic[3] = { 'Q', 'T', 'P' };

static uint64_t
text_bytes(const qs_top *top)
{
	return top->texts ? top->length + top->count : 0;
}

/* Returns the size of the entries after the sketch.  An explicit sketch contains the entries. */
static uint64_t
entries_bytes(const qs_top *top, uint8_t encoding)
{
	return encoding == QS_EXPLICIT ? 0 : top->count * QS_TOP_ENTRY_BYTES;
}

uint64_t
qs_top_flat_size(const qs_top *top, const qs_flat *sketch)
{
	return QS_TOP_HEADER_BYTES + sketch->bytes + entries_bytes(top, sketch->encoding) +
		   text_bytes(top);
}

static uint8_t
encoding_of(const qs_top *top, const qs_sketch *sk)
{
	return top->texts && sk->keys.text != QB_TEXT_BYTES ? ENCODING_UTF8 : ENCODING_UNKNOWN;
}

static void
write_header(const qs_top *top, const qs_sketch *sk, uint64_t sketch_bytes, uint64_t texts,
			 uint8_t *out)
{
	bool has_texts = top->texts && top->count > 0;

	memset(out, 0, QS_TOP_HEADER_BYTES);
	memcpy(out, magic, sizeof(magic));
	out[QS_TOP_AT_VERSION] = QS_TOP_FORMAT_VERSION_1;
	qb_store32(out + AT_N, top->n);
	out[AT_TEXTS] = has_texts;
	out[AT_ENCODING] = has_texts ? encoding_of(top, sk) : 0;
	qb_store64(out + AT_BOUND, (uint64_t) top->bound);
	qb_store64(out + AT_SKETCH, sketch_bytes);
	qb_store64(out + AT_COUNT, top->count);
	qb_store64(out + AT_TEXT_BYTES, texts);
}

static void
write_entries(const qs_top *top, uint8_t *entry)
{
	uint64_t i;

	for (i = 0; i < top->count; i++, entry += QS_TOP_ENTRY_BYTES)
	{
		const qs_top_key *key = &top->key[i];

		qb_store64(entry, key->fingerprint);
		qb_store64(entry + QS_TOP_ENTRY_LOWER, (uint64_t) key->lower);
		qb_store64(entry + QS_TOP_ENTRY_BEFORE, (uint64_t) key->before);
	}
}

static void
write_texts(const qs_top *top, uint8_t *out)
{
	uint64_t i;

	for (i = 0; i < top->count; i++)
	{
		const qs_top_key *key = &top->key[i];

		if (key->length > 0)
			memcpy(out, key->text, key->length);
		out[key->length] = 0;
		out += key->length + 1;
	}
}

void
qs_top_write(const qs_top *top, const qs_sketch *sk, const qs_flat *flat, uint8_t *out)
{
	uint64_t entries = entries_bytes(top, flat->encoding);
	uint8_t *end = out + QS_TOP_HEADER_BYTES + flat->bytes;

	write_header(top, sk, flat->bytes, text_bytes(top), out);
	qs_write_flat(sk, flat, out + QS_TOP_HEADER_BYTES);
	if (entries > 0)
		write_entries(top, end);
	if (top->texts)
		write_texts(top, end + entries);
	qb_store32(out + AT_CRC, qb_checksum(out, qs_top_flat_size(top, flat), AT_CRC));
}

uint64_t
qs_top_list_size(const qs_top *top)
{
	return top->count * QS_TOP_ENTRY_BYTES + text_bytes(top);
}

qs_top
qs_top_write_list(const qs_top *top, uint8_t *out)
{
	qs_top view = { .n = top->n,
					.bound = top->bound,
					.texts = top->texts,
					.view = true,
					.count = top->count,
					.entry_bytes = QS_TOP_ENTRY_BYTES,
					.text_bytes = text_bytes(top) };

	write_entries(top, out);
	if (top->texts)
		write_texts(top, out + top->count * QS_TOP_ENTRY_BYTES);
	return view;
}

void
qs_top_open_list(qs_top *view, const uint8_t *bytes)
{
	view->entries = bytes;
	view->text = bytes + view->count * QS_TOP_ENTRY_BYTES;
}

/* Reads and checks the fields of the header. */
static qb_status
read_header(qs_top *view, const uint8_t *bytes)
{
	static const uint8_t zeros[QS_TOP_HEADER_BYTES - AT_RESERVED_2];

	view->n = qb_load32(bytes + AT_N);
	view->bound = (int64_t) qb_load64(bytes + AT_BOUND);
	view->count = qb_load64(bytes + AT_COUNT);
	view->text_bytes = qb_load64(bytes + AT_TEXT_BYTES);
	view->texts = bytes[AT_TEXTS];
	if (view->n < 1 || view->n > QS_TOP_MAX || bytes[AT_TEXTS] > 1 || view->bound < 0 ||
		(view->texts && view->count == 0))
		return QB_FORMAT_PARAMS;
	if (memcmp(bytes + AT_RESERVED_1, zeros, AT_BOUND - AT_RESERVED_1) != 0 ||
		memcmp(bytes + AT_RESERVED_2, zeros, sizeof(zeros)) != 0)
		return QB_FORMAT_RESERVED;
	return QB_OK;
}

/* True if the bound and the number of candidates match the sketch. */
static bool
fits_sketch(const qs_top *view, const qs_sketch *sketch)
{
	if (view->bound > sketch->total)
		return false;
	if (sketch->encoding == QS_EXPLICIT)
		return view->count == sketch->used && view->bound == 0;
	return view->count <= qs_top_capacity(view->n);
}

/* Points the view to the entries and texts.  "bytes" are the bytes after the sketch. */
static qb_status
set_keys(qs_top *view, const qs_sketch *sketch, const uint8_t *bytes, uint64_t length)
{
	uint64_t entries = entries_bytes(view, sketch->encoding);

	if (view->text_bytes > length || length - view->text_bytes != entries ||
		view->text_bytes > UINT32_MAX || (!view->texts && view->text_bytes > 0))
		return QB_FORMAT_LENGTH;
	view->entries = entries > 0 ? bytes : sketch->entries;
	view->entry_bytes = entries > 0 ? QS_TOP_ENTRY_BYTES : qs_entry_bytes(sketch->narrow);
	view->text = bytes + entries;
	return QB_OK;
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
	if (!fits_sketch(view, sketch) || bytes[AT_ENCODING] != encoding_of(view, sketch))
		return QB_FORMAT_PARAMS;
	return set_keys(view, sketch, bytes + QS_TOP_HEADER_BYTES + sketch_bytes,
					length - sketch_bytes);
}

/*
 * True if keys ascend, upper bounds are positive, and all bounds are within the sketch's estimates
 * and total.
 */
static bool
entries_are_sound(const qs_top *view, const qs_sketch *sketch, const qb_memory *memory)
{
	int64_t rest = sketch->total;
	qs_top_position position = { 0 };
	uint64_t previous = 0;
	qs_top_key key;

	while (qs_top_next(view, &position, &key))
	{
		int64_t estimate;

		qb_pause(memory); /* an estimate may read many blocks of a compact sketch */
		estimate = qs_estimate(sketch, key.fingerprint);

		if ((position.entry > 1 && key.fingerprint <= previous) || key.lower < 0 ||
			key.lower > rest || key.lower > estimate || key.before < (key.lower == 0) ||
			key.before > estimate - key.lower)
			return false;
		rest -= key.lower;
		previous = key.fingerprint;
	}
	return true;
}

/* True if the view has no texts, or one text for each key. */
static bool
texts_are_sound(const qs_top *view)
{
	const uint8_t *at = view->text;
	const uint8_t *end = at + view->text_bytes;
	uint64_t texts = view->texts ? view->count : 0;

	for (; texts > 0 && (at = memchr(at, 0, (size_t) (end - at))) != NULL; texts--)
		at++;
	return at == end;
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
	status = qs_validate_listed(bytes, sketch_bytes, memory);
	if (status != QB_OK)
		return status;
	if (sketch.encoding != QS_EXPLICIT && !entries_are_sound(&view, &sketch, memory))
		return QB_FORMAT_ENTRIES;
	return texts_are_sound(&view) ? QB_OK : QB_FORMAT_ENTRIES;
}

const uint8_t *
qs_top_sketch_bytes(const uint8_t *bytes, uint64_t *length)
{
	*length = qb_load64(bytes + AT_SKETCH);
	return bytes + QS_TOP_HEADER_BYTES;
}
