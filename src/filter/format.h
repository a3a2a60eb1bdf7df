/*
 * format.h
 *		The byte format of a filter, version 1.
 *
 * Little-endian, one header of 60 bytes and a body.  Inside PostgreSQL these
 * are the bytes after the 4-byte varlena header, so the body starts at 64.
 *
 *	offset	bytes	field
 *	0		3		magic "QFL"
 *	3		1		version, 1
 *	4		1		encoding (qf_encoding)
 *	5		1		layout (qf_layout)
 *	6		2		reserved, 0
 *	8		4		k
 *	12		4		CRC-32C of all bytes with this field 0
 *	16		8		m
 *	24		8		seed
 *	32		4		family of the keys, 0 = none yet
 *	36		4		collation of the keys, 0 = does not matter
 *	40		8		rows, 0 .. 2^63 - 1, or -1: unknown
 *	48		8		q = (1 - p) * 2^64, 0: a Bloom filter
 *	56		4		set bits
 *
 * Body, compact: see compact.h.
 * Body, dense: words of 8 bytes, bit i % 64 of word i / 64; bits of
 * the last word beyond m are zero.
 *
 * The encoding follows from the bits (compact.h), so the bytes are a function
 * of the parameters, the bits and the rows, whatever the encoding in memory is.
 *
 * src/filter/format.h
 */
#ifndef QF_FORMAT_H
#define QF_FORMAT_H

#include "filter/filter.h"

#define QF_FORMAT_VERSION_1 1
#define QF_HEADER_BYTES     60

/* How a filter is written. */
typedef struct qf_flat
{
	uint8_t encoding; /* QF_ENCODING_COMPACT or QF_DENSE */
	uint64_t bytes;   /* header included */
} qf_flat;

/* Choose that for a filter that has its bits in memory, which may take a pass over them. */
extern qf_flat qf_flat_of(const qf_filter *f);

/* Serialize in flat->bytes bytes a filter that has not changed since qf_flat_of(). */
extern void qf_write_flat(const qf_filter *f, const qf_flat *flat, uint8_t *out);

/* The same in two calls that both choose: how many bytes, and writing them. */
static inline uint64_t
qf_flat_size(const qf_filter *f)
{
	return qf_flat_of(f).bytes;
}

static inline void
qf_write(const qf_filter *f, uint8_t *out)
{
	qf_flat flat = qf_flat_of(f);

	qf_write_flat(f, &flat, out);
}

/*
 * Make "view" a read-only filter inside "bytes", which must stay.  Checks the header
 * and the length only, which is enough for bytes that were validated when they came
 * in.  It is safe for any other bytes, too: whatever the body holds, nothing outside
 * of it is read or written.
 */
extern qb_status qf_open(qf_filter *view, const uint8_t *bytes, uint64_t length);

/*
 * The one validator for bytes from outside.  Checks all that qf_open() checks, the
 * checksum, and that the body is what qf_write() would write.
 */
extern qb_status qf_validate(const uint8_t *bytes, uint64_t length);

/* The same, with the pauses of "memory", which may jump out. */
extern qb_status
qf_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* Bytes of the dense encoding, to which a filter with these parameters grows. */
extern uint64_t qf_dense_size(const qf_params *p);

#endif
