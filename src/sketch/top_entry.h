/*
 * top_entry.h
 *		Candidates inside serialized bytes (top_format.h).
 *
 * An entry has 32 bytes; they ascend by fingerprint:
 *
 *	0		8		fingerprint
 *	8		8		lower, at least 1
 *	16		8		before; lower + before is at most the sketch's estimate
 *	24		8		end of the text among all texts; it starts where the one before ends
 *
 * src/sketch/top_entry.h
 */
#ifndef QS_TOP_ENTRY_H
#define QS_TOP_ENTRY_H

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

#endif
