/*
 * pack.h
 *		Bytes most of which are zero, in fewer: for the text form of values.
 *
 * Tables of few keys are mostly zeros.  Packed bytes are
 *
 *	4 bytes		how many bytes there were, little-endian
 *	then, for words of 8 bytes, the last one filled up with zeros:
 *	1 byte		which of the word's bytes are not zero: bit i for byte i
 *	n bytes		these
 *	or, for words of nothing but zeros:
 *	1 byte		0
 *	1 byte		how many more of them follow, 0 to 255
 *
 * This form goes through text functions only: no checksum, since what is packed
 * has its own.
 *
 * These are the plain loops; engine/pack.h has what is called.
 *
 * src/base/pack.h
 */
#ifndef QS_PACK_H
#define QS_PACK_H

#include "base/port.h"

/* Bytes before the words, bytes of a word, and words that one run of zeros is at most. */
#define QS_PACK_HEADER 4
#define QS_PACK_WORD   8
#define QS_PACK_RUN    256

/* Bytes that may be written beyond what counts, by both. */
#define QS_PACK_SLACK 16

/*
 * Pack into "packed", which has room for "room" bytes and QS_PACK_SLACK more.
 * Returns how many it took; 0: they do not fit.
 */
extern size_t qs_pack_plain(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room);

/*
 * The loop: pack so many bytes at "out", until that is beyond the end.  Returns
 * where it stopped.
 */
extern uint8_t *qs_pack_words(const uint8_t *bytes, size_t count, uint8_t *out, const uint8_t *end);

/* How many bytes are packed in these, or so they say: never more than such can hold. */
extern bool qs_unpacked_count(const uint8_t *packed, size_t length, uint32_t *count);

/* Unpack as many, into room for QS_PACK_SLACK more; false: these are no packed bytes. */
extern bool qs_unpack_plain(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count);

/* The loop: unpack so many words, which must be all that there are. */
extern bool qs_unpack_words(const uint8_t *in, const uint8_t *end, uint8_t *bytes, size_t words);

#endif
