/*
 * base64.h
 *		Base64 as in RFC 4648, section 4, with padding: the text form of values.
 *
 * All levels of isa.h give the same text and bytes, and refuse the same texts.
 *
 * src/base/base64.h
 */
#ifndef QB_BASE64_H
#define QB_BASE64_H

#include "base/port.h"

/*
 * The length of the text of "bytes" bytes; the most bytes that a text of "length"
 * characters holds.
 */
QB_INLINE uint64_t
qb_base64_length(uint64_t bytes)
{
	return (bytes + 2) / 3 * 4;
}

QB_INLINE uint64_t
qb_base64_bytes(uint64_t length)
{
	return length / 4 * 3;
}

/* Write qb_base64_length(count) characters. */
extern void qb_base64_encode(const uint8_t *bytes, size_t count, char *text);

/*
 * Read text into at most qb_base64_bytes(length) bytes; *count tells how many.
 * False: the text is not base64.
 */
extern bool qb_base64_decode(const char *text, size_t length, uint8_t *bytes, size_t *count);

/* The plain versions, which the fast ones must agree with. */
extern void qb_base64_encode_plain(const uint8_t *bytes, size_t count, char *text);
extern bool qb_base64_decode_plain(const char *text, size_t length, uint8_t *bytes, size_t *count);

#endif
