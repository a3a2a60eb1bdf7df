/*
 * format.h
 *		The byte format of a collection of sets.
 *
 * Little-endian.  The bytes are a function of the pairs (set id, element)
 * alone, so equal collections are equal byte by byte.
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
#ifndef QI_FORMAT_H
#define QI_FORMAT_H

#include "sets/collection.h"

#define QI_FORMAT_VERSION 1
#define QI_HEADER_BYTES   64

/* Bytes of a collection, and the bytes. */
extern uint64_t qi_flat_size(const qi_collection *c);
extern void qi_write(const qi_collection *c, uint8_t *out);

/* Sets and elements, as a header of QI_HEADER_BYTES says, of which nothing is checked. */
extern void qi_read_sizes(const uint8_t *header, uint64_t *sets, uint64_t *elements);

/*
 * Make a collection of bytes that nothing is known about: every rule of the
 * format is checked, and no more memory is taken than ten times the length.
 */
extern qs_status qi_read(qi_collection *c, const uint8_t *bytes, uint64_t length,
						 const qs_memory *memory, const qi_interrupt *interrupt);

#endif
