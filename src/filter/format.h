/*
 * format.h
 *		The byte format of a filter, version 1, with its compact encoding; looking up a
 *		key in it.
 *
 * Little-endian: a header of 60 bytes and a body.  In PostgreSQL, a varlena header of 4 bytes
 * precedes this header, so the body starts at byte 64.
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
 * A compact body is described below.  A dense body has words of 8 bytes.  Position i is bit i % 64
 * of word i / 64.  Bits of the last word beyond m are zero.
 *
 * The bits determine the encoding (below).  So parameters, keys, bits and number of rows determine
 * the bytes, whatever the encoding in memory is.
 *
 * qf_open() compares the fields that depend on each other:
 *
 *	layout, m, k, q				qf_params_check(): blocked is for Bloom filters of whole blocks
 *	rows, family, collation		a filter has keys if and only if it has rows
 *	rows, set bits, k, q		a row sets at most k bits; a Bloom filter does not count rows
 *	encoding, m, set bits, length	m determines the length (dense), or m and the set bits bound
 *									the length (compact)
 *
 * qf_validate() compares the set bits with the body.  The caller checks that family, collation and
 * text fit together, since only the caller knows families.  Merges call qf_mergeable() first.
 *
 * src/filter/format.h
 */
#ifndef QF_FORMAT_H
#define QF_FORMAT_H

#include "filter/filter.h"

#define QF_FORMAT_VERSION_1 1
#define QF_HEADER_BYTES     60

/* The encoding and the length of a filter when it is written. */
typedef struct qf_flat
{
	uint8_t encoding; /* QF_ENCODING_COMPACT or QF_DENSE */
	uint64_t bytes;   /* header included */
} qf_flat;

/* Choose the encoding of a filter whose bits are in memory.  May read all bits. */
extern qf_flat qf_flat_of(const qf_filter *f);

/* Write a filter to flat->bytes bytes.  The filter must not have changed since qf_flat_of(). */
extern void qf_write(const qf_filter *f, const qf_flat *flat, uint8_t *out);

/*
 * Make "view" a read-only filter inside "bytes", which must remain allocated.  Checks the header
 * and the length only.  These checks suffice for bytes that were validated on input.  Other bytes
 * are safe, too: no function reads or writes outside of the body, whatever it contains.
 */
extern qb_status qf_open(qf_filter *view, const uint8_t *bytes, uint64_t length);

/*
 * Validate untrusted bytes.  Checks everything that qf_open() checks, the checksum, and that the
 * body is what qf_write() would write.  "memory" is used only for pauses, and may be NULL.
 */
extern qb_status qf_validate(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* Return the size in bytes of the dense encoding with these parameters, header included. */
extern uint64_t qf_dense_size(const qf_params *p);

/*
 * ---- the compact encoding of a filter: gaps between set bits ----
 *
 * Most stored filters are not full, so most of their bits are zero.  A compact filter can be read,
 * also in part, but not changed, so only views are compact.  qf_copy() makes an explicit or dense
 * filter of a compact filter.
 *
 * Groups have 2^s neighbouring bits.  s is the least number from 9 on that gives at most max(1,
 * ones / 32) groups.  So a group has about 32 to 64 set bits, and a block of a blocked filter lies
 * in one group.  The body, little-endian:
 *
 *	4 * (groups - 1) bytes	for each group except the last, the end of the group's
 *							data as an offset from the end of this table
 *	data					for each set bit, in ascending order, a varint: the number
 *							of zero bits since the preceding set bit, or since the
 *							start of the group
 *
 * A varint has 7 bits in each byte, the lowest first.  The top bit says that more bytes follow.  A
 * varint must be as short as possible.
 *
 * A filter is written compact if the body takes at most three quarters of the bytes of its bits,
 * and no group's data take more than QF_GROUP_BYTES.  All other filters are written dense.
 * Positions are hashes, so no group exceeds this limit by chance.  A lookup reads one group for
 * each position, so the limit bounds the time of a lookup even if an attacker fills one group.
 */

/* The limit of a group's data in bytes. */
#define QF_GROUP_BYTES 2048

/* Return the size in bytes of the table of groups. */
extern uint64_t qf_group_table(const qf_params *p, uint64_t ones);

/*
 * Set the bits of a compact view in "into".  After QB_NO_MEMORY, or if the pause function raises an
 * error, only some of the bits are set.
 */
extern qb_status qf_unite_compact(qf_filter *into, const qf_filter *from);

/*
 * ---- looking up a key without reading the whole filter ----
 *
 * A lookup needs some bytes at each of the key's positions, or one block.  A caller that can read
 * slices of a stored filter reads only these bytes:
 *
 *		qf_open(&view, header, length);		the header's bytes are enough
 *		set = qf_count_stored(&view, h, false, &source);
 *
 * For each position, or for the block, a dense filter is read at one offset, and a compact filter
 * at up to two.  In a compact filter, the first read gives the begin and the end of a group's data,
 * and the second read gives the data.
 */

/* A source of serialized bytes.  "read" may jump out. */
typedef struct qf_source
{
	void (*read)(void *context, uint64_t offset, uint32_t bytes, uint8_t *out);
	void *context;
} qf_source;

/*
 * Return how many positions of h are set.  "view" needs only the filter's header.  "all": the
 * caller needs only to know whether all positions are set, so reading may stop at the first zero
 * bit.
 */
extern uint32_t
qf_count_stored(const qf_filter *view, uint64_t h, bool all, const qf_source *source);

/* Do the work of qf_count_stored() for a compact view whose body is in memory. */
extern uint32_t qf_count_compact(const qf_filter *view, uint64_t h, bool all);

#endif
