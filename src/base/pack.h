/*
 * pack.h
 *		Packing bytes that are mostly zero, for the text form of values.
 *
 * A table with few keys is mostly zeros.  Packed bytes are
 *
 *	4 bytes		how many bytes there were, little-endian
 *	then, for words of 8 bytes, the last one filled up with zeros:
 *	1 byte		which of the word's bytes are not zero: bit i for byte i
 *	n bytes		the bytes that are not zero
 *	or, for words of nothing but zeros:
 *	1 byte		0
 *	1 byte		how many more such words follow, 0 to 255
 *
 * This form goes through text functions only.  It has no checksum, because the
 * packed value has its own.
 *
 * All levels of isa.h give the same bytes, and refuse the same packed bytes.
 *
 * src/base/pack.h
 */
#ifndef QB_PACK_H
#define QB_PACK_H

#include "base/port.h"

/* Bytes of the header, bytes of a word, and the most words of one run of zeros. */
#define QB_PACK_HEADER 4
#define QB_PACK_WORD   8
#define QB_PACK_RUN    256

/* Bytes beyond the result that packing and unpacking may write. */
#define QB_PACK_SLACK 16

/*
 * Pack into "packed", which has room for "room" bytes and QB_PACK_SLACK more.
 * Returns the packed bytes' number, or 0 if they do not fit.
 */
extern size_t qb_pack(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room);

/*
 * How many bytes the packed ones claim to hold; false if so few packed bytes cannot
 * hold that many.
 */
extern bool qb_unpacked_count(const uint8_t *packed, size_t length, uint32_t *count);

/* Unpack "count" bytes, into room for QB_PACK_SLACK more; false: the input is not packed bytes. */
extern bool qb_unpack(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count);

/* The plain versions, which the fast ones must agree with. */
extern size_t qb_pack_plain(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room);
extern bool qb_unpack_plain(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count);

#endif
