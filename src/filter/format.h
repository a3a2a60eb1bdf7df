/*
 * format.h
 *		The byte format of a filter, version 1, with its compact encoding; looking up a
 *		key in it.
 *
 * Little-endian, one header of 60 bytes and a body.  Inside PostgreSQL these
 * are the bytes after the 4-byte varlena header, so the body starts at 64.
 *
 *	offset	bytes	field
 *	0		3		magic "QFL"
 *	3		1		version, 1
 *	4		1		encoding (qf_encoding)
 *	5		1		layout (qf_layout)
 *	6		1		encoding of the keys' text (qb_text), 0 without keys
 *	7		1		reserved, 0
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
 * Body, compact: see below.
 * Body, dense: words of 8 bytes, bit i % 64 of word i / 64; bits of
 * the last word beyond m are zero.
 *
 * The encoding follows from the bits (below), so the bytes are a function
 * of the parameters, the bits and the rows, whatever the encoding in memory is.
 *
 * Fields that depend on each other.  qf_open() compares them:
 *
 *	layout, m, k, q				qf_params_check(): blocked is for Bloom filters of whole blocks
 *	rows, family, collation		without rows there are no keys, and with rows there are
 *	rows, set bits, k, q		a row sets at most k bits; a Bloom filter does not count rows
 *	encoding, m, set bits, length	the length of the body follows, or has limits
 *
 * qf_validate() compares the set bits with the body.  The caller compares family,
 * collation and text, since only the caller knows families.  Functions of two filters begin with
 * qf_mergeable().
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

/*
 * Choose the encoding of a filter that has its bits in memory.  This may take a pass over the bits.
 */
extern qf_flat qf_flat_of(const qf_filter *f);

/* Serialize a filter into flat->bytes bytes.  It must not have changed since qf_flat_of(). */
extern void qf_write(const qf_filter *f, const qf_flat *flat, uint8_t *out);

/*
 * Make "view" a read-only filter inside "bytes", which must stay.  Checks the header
 * and the length only, which is enough for bytes that were validated when they came
 * in.  It is safe for any other bytes, too, because nothing outside of the body is read or written,
 * whatever the body holds.
 */
extern qb_status qf_open(qf_filter *view, const uint8_t *bytes, uint64_t length);

/*
 * The one validator for bytes from outside.  Checks all that qf_open() checks, the
 * checksum, and that the body is what qf_write() would write.  "memory" is only asked
 * to pause, and may be NULL.
 */
extern qb_status qf_validate(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* Bytes of the dense encoding, to which a filter with these parameters grows. */
extern uint64_t qf_dense_size(const qf_params *p);

/*
 * ---- the compact encoding of a filter: only the bits that are set ----
 *
 * Most stored filters have room left, so most of their bits are zero.  The compact encoding is for
 * storing.  It can be read, also in part, but not changed, so only views have it.  qf_copy() turns
 * it into a list or into bits.
 *
 * Neighbouring bits form groups of 2^s.  The number s is at least 9, and is the smallest one that
 * gives at most max(1, ones / 32) groups.  So a group has some 32 to 64 set bits, and a block of a
 * blocked filter lies in one group.  The body, little-endian:
 *
 *	4 * (groups - 1) bytes	for each group but the last one, where its data end, from
 *							the end of this table
 *	data					for each set bit, in their order, a varint: how many zeros
 *							are before it, since the set bit before it, or since the
 *							group's first bit
 *
 * A varint has 7 bits in each byte, the lowest first.  The top bit says that more bytes follow.  A
 * varint must be as short as possible.
 *
 * A filter is written in this encoding if the body takes at most three quarters of the
 * bytes of its bits, and no group's data take more than QF_GROUP_BYTES.  Otherwise it is
 * written in dense encoding.  Positions are hashes, so groups never get so full by chance.  The
 * limit protects against an attacker who fills one group.  A lookup reads one group for each
 * position, so with the limit it is never slow.
 */

/* The most bytes of a group's data. */
#define QF_GROUP_BYTES 2048

/* Bytes of the table of groups. */
extern uint64_t qf_group_table(const qf_params *p, uint64_t ones);

/* Set the bits of a compact view in "into".  A pause that jumps out leaves some of them set. */
extern qb_status qf_unite_compact(qf_filter *into, const qf_filter *from);

/*
 * ---- looking up a key in the few bytes of a serialized filter that it takes ----
 *
 * A lookup in a filter of a megabyte needs some bytes at each of the key's positions, or one block.
 * If pieces of a stored filter can be read alone, these bytes suffice:
 *
 *		qf_open(&view, header, length);		the header's bytes are enough
 *		set = qf_count_stored(&view, h, false, &source);
 *
 * A dense filter is read at one offset for each position, or for the block.  A compact filter is
 * read at two offsets.  The first has the begin and the end of the data of a group of bits, and the
 * second has these data.
 */

/* Reads pieces of serialized bytes.  "read" may jump out. */
typedef struct qf_source
{
	void (*read)(void *context, uint64_t offset, uint32_t bytes, uint8_t *out);
	void *context;
} qf_source;

/*
 * The number of positions of h that are set in a filter of which only the header was opened.
 * "all": the caller only wants to know whether all are set, so reading stops at the first zero.
 */
extern uint32_t
qf_count_stored(const qf_filter *view, uint64_t h, bool all, const qf_source *source);

/* qf_count_stored() for a compact view that has all its bytes. */
extern uint32_t qf_count_compact(const qf_filter *view, uint64_t h, bool all);

#endif
