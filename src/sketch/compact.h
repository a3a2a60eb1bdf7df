/*
 * compact.h
 *		The compact form: of the counters only those that are not zero, in few bytes.
 *
 * A sketch of few keys is mostly zeros, and most counters need one byte.  The compact
 * form is for storing.  It can be read, in part too, but not changed, so there are only
 * views of it.  qs_copy() makes tables of one.
 *
 * The counters are seen as an array of units:
 *
 *	structure							unit		counters	units
 *	multilevel							a bucket	28			n
 *	warp, half_warp, sub_warp			a bucket	m			n
 *	sf, device part						a bucket	8			n
 *	thread								a counter	1			d * n, row after row
 *	sf, full and host part				a cell		1			n * 8 * z of the fat table
 *
 * A counter of multilevel is its value, low + 256 * high.  The slim table of a full sf
 * sketch follows from its fat table.
 *
 * Neighbouring units form groups of 2^s, where s is the least number from 4 on with
 * which there are at most max(1, present / 16) groups; "present" is the number of
 * units that are not all zero.  The body, little-endian:
 *
 *	4 * groups bytes	for each group, where its data end, from the end of this table
 *	data				for each present unit, in their order:
 *						- varint: how many units were left out, since the present unit
 *						  before it, or since the group's first unit
 *						- units of more than one counter: which counters are not zero,
 *						  a bit each, in 1 (m = 8), 2 (16) or 4 bytes
 *						- varint: each counter that is not zero
 *
 * A varint has 7 bits in each byte, the lowest first; the top bit says that more
 * follow.  It is as short as it can be.
 *
 * A sketch that is not explicit is written in this form if the body takes at most three
 * quarters of the bytes of its tables, and otherwise in dense form.  So one key is
 * found by reading the ends of its group and the group.  A group has some 16 present
 * units on average.  Keys that were chosen for it can put all units in one group, but not
 * more than the square root of 16 * units, which takes up to a millisecond to pass.
 *
 * src/sketch/compact.h
 */
#ifndef QS_COMPACT_H
#define QS_COMPACT_H

#include "base/groups.h"
#include "sketch/sketch.h"

/* How units lie in a sketch. */
typedef struct qs_unit_layout
{
	uint64_t units;
	uint32_t width;      /* counters of a unit */
	uint32_t mask_bytes; /* of a unit, 0 if it has one counter */
} qs_unit_layout;

/* What a compact body has. */
typedef struct qs_compact_size
{
	uint64_t present;      /* units that are not all zero */
	uint64_t bytes;        /* of the body */
	const uint64_t *marks; /* which units are present (unit_marks.h); NULL: look at all */
} qs_compact_size;

/* A unit that was read: its counters that are not zero, in the order of the mask's bits. */
typedef struct qs_unit
{
	uint64_t index;
	uint32_t mask;
	uint32_t count;                       /* of the mask's bits */
	uint64_t value[QS_MASK_BITS_MAX + 8]; /* eight are read at a time */
} qs_unit;

/* Reads one group, from its data in memory. */
typedef struct qs_unit_reader
{
	const uint8_t *next;
	const uint8_t *end;   /* of the group */
	const uint8_t *limit; /* of the memory that may be read, not before "end" */
	uint64_t index;       /* the next unit that can come */
	uint64_t after;       /* the first unit that is not in the group */
	uint32_t width;
	uint32_t mask_bytes;
	bool damaged; /* these bytes are none that qs_compact_write() makes */
} qs_unit_reader;

/* The most bytes of one unit. */
#define QS_UNIT_BYTES (10 + 4 + QS_MASK_BITS_MAX * 10)

extern qs_unit_layout qs_units_of(const qs_params *p);

/* s: a group has 2^s units. */
extern uint32_t qs_group_shift(uint64_t units, uint64_t present);

/* The most bytes of a body in place of tables of so many bytes. */
extern uint64_t qs_compact_most(uint64_t dense);

/*
 * Is a dense sketch, whose tables will take "dense" bytes, to be written in compact
 * form?  If so, "size" says what that takes.  The caller has set its marks.
 */
extern bool qs_compact_fits(const qs_sketch *sk, uint64_t dense, qs_compact_size *size);

/* Write the body of this size. */
extern void qs_compact_write(const qs_sketch *sk, const qs_compact_size *size, uint8_t *out);

/* Does the view have the table of groups?  qs_open() asks, and all other functions rely on it. */
extern bool qs_compact_has_groups(const qs_sketch *view);

/* Read the next unit; false at the end of the group, or where the data are damaged. */
extern bool qs_unit_next(qs_unit_reader *reader, qs_unit *unit);

/* Add a unit's counters to unit "index" of a dense sketch that is wide enough. */
extern qb_status qs_unit_add(qs_sketch *into, uint64_t index, const qs_unit *unit);

/* into += from, a compact view of the same parameters, where "into" is dense and wide enough. */
extern qb_status qs_compact_add(qs_sketch *into, const qs_sketch *from);

/* Are these the bytes of a compact sketch that obeys its structure's invariants? */
extern bool qs_compact_check(const qs_sketch *view);

#endif
