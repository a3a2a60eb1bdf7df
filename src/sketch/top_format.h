/*
 * top_format.h
 *		The byte format of top keys.
 *
 * An entry has 32 bytes; they ascend by fingerprint:
 *
 *	0		8		fingerprint
 *	8		8		lower, at least 1
 *	16		8		before; lower + before is at most the sketch's estimate
 *	24		8		end of the text among all texts; it starts where the one before ends
 *
 * src/sketch/top_format.h
 */
#ifndef QS_TOP_FORMAT_H
#define QS_TOP_FORMAT_H

#include "sketch/format.h"
#include "sketch/top.h"

#define QS_TOP_ENTRY_LOWER  8
#define QS_TOP_ENTRY_BEFORE 16
#define QS_TOP_ENTRY_END    24
#define QS_TOP_ENTRY_BYTES  32

QB_INLINE const uint8_t *
qs_top_entry_at(const qs_top *top, uint64_t i)
{
	return top->entries + i * QS_TOP_ENTRY_BYTES;
}

/* Where the text of entry i starts. */
QB_INLINE uint64_t
qs_top_text_start(const qs_top *top, uint64_t i)
{
	return i == 0 ? 0 : qb_load64(qs_top_entry_at(top, i - 1) + QS_TOP_ENTRY_END);
}

/* Entry i of a view. */
QB_INLINE qs_top_key
qs_top_entry(const qs_top *top, uint64_t i)
{
	const uint8_t *entry = qs_top_entry_at(top, i);
	uint64_t start = qs_top_text_start(top, i);
	qs_top_key key = { .row = QS_TOP_NO_ROW };

	key.fingerprint = qb_load64(entry);
	key.lower = (int64_t) qb_load64(entry + QS_TOP_ENTRY_LOWER);
	key.before = (int64_t) qb_load64(entry + QS_TOP_ENTRY_BEFORE);
	key.text = (uint8_t *) (uintptr_t) top->text + start;
	key.length = (uint32_t) (qb_load64(entry + QS_TOP_ENTRY_END) - start);
	return key;
}

/*
 * ---- the byte format of a sketch with its most frequent keys, version 1 ----
 *
 * Little-endian: a header of 64 bytes, the sketch in its own format (format.h),
 * entries of the candidates, their texts.
 *
 *	offset	bytes	field
 *	0		3		magic "QTP"
 *	3		1		version, 1
 *	4		4		n, 1 .. QS_TOP_MAX
 *	8		4		CRC-32C of all bytes with this field 0
 *	12		1		1: keys have texts; 0: keys are their fingerprints, or there are none
 *	13		1		encoding of the texts, the caller's number; 0 without texts
 *	14		2		reserved, 0
 *	16		8		bound
 *	24		8		bytes of the sketch
 *	32		8		candidates
 *	40		8		bytes of all texts
 *	48		16		reserved, 0
 *
 * The layout of entries stands above.
 *
 * With an explicit sketch all keys are there, exact: lower is the count, before is
 * 0, and so is the bound.  With a dense sketch there are at most qs_top_capacity(n)
 * keys.
 */

#define QS_TOP_FORMAT_VERSION_1 1
#define QS_TOP_AT_VERSION       3
#define QS_TOP_HEADER_BYTES     64

/*
 * Bytes that qs_top_write() will write, for a sketch that takes so many.  Owned candidates must
 * have gone through qs_top_finish().
 */
extern uint64_t qs_top_flat_size(const qs_top *top, const qs_flat *sketch);

/* Serialize into qs_top_flat_size() bytes, under the same condition. */
extern void qs_top_write(const qs_top *top, const qs_sketch *sk, const qs_flat *flat, uint8_t *out);

/*
 * Make "view" and "sketch" views of bytes, after checking all lengths.  Whatever the
 * bytes hold, no operation on the views reads outside of them.
 */
extern qb_status
qs_top_open(qs_top *view, qs_sketch *sketch, const uint8_t *bytes, uint64_t length);

/* The one validator for bytes from outside.  Checks all that this format says, and the sketch. */
extern qb_status qs_top_validate(const uint8_t *bytes, uint64_t length);

/* The same, with the pauses of "memory", which may jump out. */
extern qb_status
qs_top_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* The bytes of the sketch inside bytes that qs_top_open() has opened. */
extern const uint8_t *qs_top_sketch_bytes(const uint8_t *bytes, uint64_t *length);

#endif
