/*
 * format.h
 *		The byte format of a sketch, version 1.
 *
 * Little-endian, one header of 60 bytes and a body.  Inside PostgreSQL these
 * are the bytes after the 4-byte varlena header, so the body starts at 64.
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
 * Body, explicit: entries of 8-byte fingerprint and 8-byte count, ascending by
 * fingerprint, counts positive.  In a list of top keys (top.h) counts have 4 bytes if
 * N < 2^32, and the counter bytes are 4.  Body, dense: the structure's table, then its
 * extra table (sf: fat; multilevel: high buckets in the order of their low
 * buckets, none all zero).  Body, compact: see compact.h, which also says when
 * this encoding is chosen.
 *
 * Fields that depend on each other.  qs_open() compares them:
 *
 *	structure, part, depth, z, masks, n		qs_params_check()
 *	encoding, counter bytes, N				counters have the width that N needs
 *	encoding, part, entries, n				a device part is not explicit; qs_explicit_limit()
 *	encoding, blocks						only compact bytes count blocks
 *	family, collation, N					without keys there is neither collation nor weight
 *	all of these, length					the length of the body follows
 *
 * qs_validate() compares N and the counts of the body.  The caller compares family, collation and
 * text, since only the caller knows families.  Functions of two sketches begin with qs_mergeable(),
 * or with a check that ignores n.
 *
 * The bytes are a function of the parameters and the multiset of keys, which
 * determine every choice in this format (encoding, counter width, order).
 *
 * src/sketch/format.h
 */
#ifndef QS_FORMAT_H
#define QS_FORMAT_H

#include "sketch/sketch.h"

#define QS_FORMAT_VERSION_1 1

/* How a sketch is, or will be, written. */
typedef struct qs_flat
{
	uint8_t encoding; /* qs_encoding */
	bool narrow;      /* explicit: counts of 4 bytes */
	uint64_t used;    /* explicit: entries; dense: high buckets; compact: bytes of the body */
	uint64_t present; /* compact: number of blocks that hold something */
	uint64_t bytes;   /* bytes of the serialized sketch */
	const uint64_t *presence; /* the bitmap that was given to qs_flat_present() */
} qs_flat;

/* Choose how to write an owned sketch or a view.  Looks at all tables of the sketch. */
extern qs_flat qs_flat_of(const qs_sketch *sk);

/*
 * Choose for a dense sketch by its presence bitmap (compact_write.h), without looking at blocks
 * that are not present.  The bitmap is read again when the sketch is written.
 */
extern qs_flat qs_flat_present(const qs_sketch *sk, const uint64_t *presence);

/*
 * Choose to write a dense sketch's tables as they are.  This is for bytes that are merged once and
 * not kept.  They can be opened, but are not valid if the sketch should be compact.
 */
extern qs_flat qs_flat_tables(const qs_sketch *sk);

/* Choose for a sketch in a list of top keys. */
extern qs_flat qs_flat_listed(const qs_sketch *sk);

/* Serialize a sketch into flat->bytes bytes.  It must not have changed since "flat" was made. */
extern void qs_write_flat(const qs_sketch *sk, const qs_flat *flat, uint8_t *out);

/* Choose and return the number of bytes; choose again and write the bytes. */
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
 * Make "view" a view of bytes, after checking the header and the length in constant
 * time.  Whatever the body holds, no operation on the view reads outside of it.
 */
extern qb_status qs_open(qs_sketch *view, const uint8_t *bytes, uint64_t length);

/*
 * The one validator for bytes from outside.  Checks all that qs_open() checks, the
 * checksum, and all invariants of encoding and structure.
 */
extern qb_status qs_validate(const uint8_t *bytes, uint64_t length);

/* qs_validate() with the pauses of "memory", which may jump out. */
extern qb_status
qs_validate_pausing(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* qs_validate_pausing() for a sketch in a list of top keys. */
extern qb_status qs_validate_listed(const uint8_t *bytes, uint64_t length, const qb_memory *memory);

/* Bytes of the smallest dense encoding, to which a sketch with these parameters grows. */
extern uint64_t qs_dense_size(const qs_params *p, bool wide);

#endif
