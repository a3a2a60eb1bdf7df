/*
 * format.h
 *		The byte format of a collection of sets.
 *
 * Little-endian.  The bytes depend on the pairs (set id, element) alone, so
 * equal collections are equal byte by byte.
 *
 *	at	bytes
 *	0	3	"QSS"
 *	3	1	version, 1
 *	4	1	kind: 1 integers, 2 fingerprints of 128 bits
 *	5	7	zero
 *	12	4	CRC-32C of all bytes, with these four as zero
 *	16	4	key family; 0 only in a collection without sets
 *	20	4	collation
 *	24	8	sets
 *	32	8	elements: sum of the sets' sizes
 *	40	8	universe: distinct elements
 *	48	8	length of the body in bytes
 *	56	8	zero
 *	64		body
 *
 * Body: the distinct elements in their order, then the sets in the order of
 * their ids.  A number is seven bits a byte, lowest first, the upper bit set in
 * all but the last, in as few bytes as possible.
 *
 *	elements	integers: the first in 8 bytes, each next as its distance to the
 *				one before, minus 1; fingerprints: 16 bytes, upper half first
 *	a set		its id, the first in 8 bytes, each next as distance minus 1; its
 *				size minus 1; its first rank; of each next the distance minus 1
 *
 * src/sets/format.h
 */
#ifndef QSET_FORMAT_H
#define QSET_FORMAT_H

#include "sets/collection.h"

#define QSET_FORMAT_VERSION 1
#define QSET_HEADER_BYTES   64

/* Bytes of a collection, and the bytes. */
extern uint64_t qset_flat_size(const qset_collection *c);
extern void qset_write(const qset_collection *c, uint8_t *out);

/*
 * Read the sizes of a collection, and whether it is wide, from a header of
 * QSET_HEADER_BYTES; nothing is checked.
 */
extern void qset_read_sizes(const uint8_t *header, qset_collection *sizes);

/*
 * Make a collection from untrusted bytes.  Every rule of the format is
 * checked, and memory is at most ten times the length.
 */
extern qb_status qset_read(qset_collection *c, const uint8_t *bytes, uint64_t length,
						   const qb_memory *memory, const qset_interrupt *interrupt);

#endif
