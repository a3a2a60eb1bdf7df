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
 * All levels of isa.h give the same bytes, and what are no packed bytes are none
 * at all of them.
 *
 * src/base/pack.h
 */
#ifndef QB_PACK_H
#define QB_PACK_H

#include "base/port.h"

/* Bytes before the words, bytes of a word, and words that one run of zeros is at most. */
#define QB_PACK_HEADER 4
#define QB_PACK_WORD   8
#define QB_PACK_RUN    256

/* Bytes that may be written beyond what counts, by both. */
#define QB_PACK_SLACK 16

/*
 * Pack into "packed", which has room for "room" bytes and QB_PACK_SLACK more.
 * Returns how many it took; 0: they do not fit.
 */
extern size_t qb_pack(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room);

/* How many bytes are packed in these, or so they say: never more than such can hold. */
extern bool qb_unpacked_count(const uint8_t *packed, size_t length, uint32_t *count);

/* Unpack as many, into room for QB_PACK_SLACK more; false: these are no packed bytes. */
extern bool qb_unpack(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count);

/* The plain versions, which the fast ones must agree with. */
extern size_t qb_pack_plain(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room);
extern bool qb_unpack_plain(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count);

#endif
