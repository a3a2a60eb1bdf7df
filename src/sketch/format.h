/*
 * format.h
 *		The byte format of a sketch, version 1.
 *
 * The format has a header of 60 bytes and a body, in little-endian order.  In PostgreSQL, a varlena
 * header of 4 bytes comes first, so the body starts at byte 64.
 *
 *	offset	bytes	field
 *	0		3		magic "QSK"
 *	3		1		version, 1
 *	4		1		structure (qs_structure)
 *	5		1		encoding (qs_encoding)
 *	6		1		part of an sf sketch (qs_part), else 0
 *	7		1		counter bytes: 0 explicit, else 4 (N < 2^32) or 8
 *	8		1		depth d
 *	9		1		z of an sf sketch, else 0
 *	10		1		log2 of the number of masks; thread 0
 *	11		1		encoding of the keys' text (qb_text), 0 without keys
 *	12		4		CRC-32C of all bytes with this field 0
 *	16		8		n
 *	24		8		seed
 *	32		4		family of the keys, 0 = none yet
 *	36		4		collation of the keys, 0 = does not matter
 *	40		8		total weight N, 0 .. 2^63 - 1
 *	48		8		explicit: entries; compact: bytes of the body; dense: high buckets
 *					of multilevel, else 0
 *	56		4		compact: blocks that are not all zero; else 0
 *
 * Body, explicit: entries of an 8-byte fingerprint and an 8-byte count, ascending by fingerprint.
 * Counts are positive.  In a list of top keys (top.h), counts have 4 bytes if N < 2^32, and the
 * field "counter bytes" is 4.
 *
 * Body, dense: the structure's table, then its extra table.  For sf, the extra table is the fat
 * table.  For multilevel, the extra table has the high buckets that are not all zero, in the order
 * of their low buckets.
 *
 * Body, compact: compact.h describes it, and says when this encoding is chosen.
 *
 * qs_open() checks that these dependent fields match:
 *
 *	structure, part, depth, z, masks, n		qs_params_check()
 *	encoding, counter bytes, N				counters have the width that N needs
 *	encoding, part, entries, n				a device part is not explicit; an explicit sketch has at
 *											most qs_explicit_limit() entries
 *	encoding, blocks						the number of blocks is 0 unless compact
 *	structure, high buckets, n				at most n high buckets in dense multilevel, else 0
 *	family, collation, text, N				without keys all four are 0
 *	all of these, length					the other fields determine the length of the body
 *
 * qs_validate() compares N with the counts of the body.  The caller checks family, collation and
 * text, because only the caller can interpret family numbers.  Functions of two sketches first call
 * qs_mergeable(), or a check that ignores n.
 *
 * If keys were only added, the bytes of a full sketch depend only on the parameters and on the
 * multiset of keys.  Parameters and keys determine encoding, counter width and the order of
 * entries.  After removals, a dense sketch does not become explicit again.
 *
 * src/sketch/format.h
 */
#ifndef QS_FORMAT_H
#define QS_FORMAT_H

#include "sketch/sketch.h"

#define QS_FORMAT_VERSION_1 1

/* The encoding and the size of a sketch's serialized bytes. */
typedef struct qs_flat
{
	uint8_t encoding; /* qs_encoding */
	bool narrow;      /* explicit: counts of 4 bytes */
	uint64_t used;    /* explicit: entries; dense: high buckets; compact: bytes of the body */
	uint64_t present; /* compact: number of blocks that are not all zero */
	uint64_t bytes;   /* bytes of the serialized sketch */
	const uint64_t *presence; /* the bitmap passed to qs_flat_present(), or NULL */
} qs_flat;

/*
 * Returns the encoding and the size of an owned sketch or a view.  For a dense sketch, the function
 * may read all counters.
 */
extern qs_flat qs_flat_of(const qs_sketch *sk);

/*
 * Does the work of qs_flat_of().  "presence" is the presence bitmap of a dense sketch
 * (compact_write.h), or NULL.  Skips blocks whose bits are 0.  The bitmap is read again when the
 * sketch is written.
 */
extern qs_flat qs_flat_present(const qs_sketch *sk, const uint64_t *presence);

/*
 * Chooses dense encoding for a dense sketch, even if qs_flat_of() would choose compact encoding.
 * The bytes can be opened and merged, but need not pass qs_validate().
 */
extern qs_flat qs_flat_tables(const qs_sketch *sk);

/* Does the work of qs_flat_of() for a sketch in a list of top keys. */
extern qs_flat qs_flat_listed(const qs_sketch *sk);

/*
 * Serializes a sketch into flat->bytes bytes.  The sketch must not have changed since "flat" was
 * made.
 */
extern void qs_write_flat(const qs_sketch *sk, const qs_flat *flat, uint8_t *out);

/* Returns the number of bytes that qs_write() writes.  Both functions choose the encoding. */
static inline uint64_t
qs_flat_size(const qs_sketch *sk)
{
	return qs_flat_of(sk).bytes;
}

static inline void
qs_write(const qs_sketch *sk, uint8_t *out)
{
	qs_flat flat = qs_flat_of(sk);

	qs_write_flat(sk, &flat, out);
}

/*
 * Makes "view" a view of bytes, after checking the header and the length in constant time.
 * Whatever the body contains, no operation on the view reads outside of the bytes.
 */
extern qb_status qs_open(qs_sketch *view, const uint8_t *bytes, uint64_t length);

/*
 * Validates untrusted bytes.  Checks all that qs_open() checks, and also the checksum and all
 * invariants of encoding and structure.
 */
extern qb_status qs_validate(const uint8_t *bytes, uint64_t length);

/* Does the work of qs_validate(), and calls memory->pause, which may jump out of the function. */
extern qb_status
qs_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* Does the work of qs_validate_pausing() for a sketch in a list of top keys. */
extern qb_status qs_validate_listed(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* Returns the bytes of the smallest dense encoding with these parameters. */
extern uint64_t qs_dense_size(const qs_params *p, bool wide);

#endif
