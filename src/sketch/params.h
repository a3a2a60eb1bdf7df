/*
 * params.h
 *		Parameters of a sketch, the arithmetic of its sizes, and hash masks.
 *
 *	structure		m	bytes of a bucket		n counts
 *	thread			-	4 per row and counter	counters of a row
 *	warp			32	128						buckets
 *	half_warp		16	64						buckets
 *	sub_warp		8	32						buckets
 *	multilevel		28	32 (low bucket)			low buckets
 *	sf				8	32 (slim), 32 z (fat)	slim buckets; also fat buckets
 *
 * A user gives the size of a sketch: the memory of the table that every query reads, from 1 kB to
 * 512 MB.  The size is n times the bytes of a bucket (thread: 4 * d * n bytes).  The size does not
 * include the high buckets of multilevel or the fat table of sf.
 *
 * src/sketch/params.h
 */
#ifndef QS_PARAMS_H
#define QS_PARAMS_H

#include "base/hash.h"
#include "base/port.h"
#include "base/status.h"

/* These numbers are part of the byte format. */
typedef enum qs_structure
{
	QS_THREAD = 1,
	QS_WARP = 2,
	QS_HALF_WARP = 3,
	QS_SUB_WARP = 4,
	QS_MULTILEVEL = 5,
	QS_SF = 6
} qs_structure;

/* The length of arrays that are indexed by qs_structure. */
#define QS_STRUCTURES (QS_SF + 1)

/* Parts of an sf sketch.  All other structures have only QS_PART_FULL. */
typedef enum qs_part
{
	QS_PART_FULL = 0,
	QS_PART_DEVICE = 1, /* only the slim table */
	QS_PART_HOST = 2    /* only the fat table */
} qs_part;

#define QS_SIZE_MIN         (UINT64_C(1) << 10)
#define QS_SIZE_MAX         (UINT64_C(1) << 29)
#define QS_THREAD_DEPTH_MAX 32
#define QS_DEPTH_MAX        32 /* the maximum number of counters per key, for all structures */
#define QS_Z_MIN            2
#define QS_Z_MAX            64
#define QS_EXPLICIT_MAX     2048

/*
 * Members that a structure does not use (z, log2_masks) are zero.  So sketches with the same
 * parameters have equal members.
 */
typedef struct qs_params
{
	uint64_t seed;
	uint64_t n;         /* number of buckets; thread: counters of a row */
	uint8_t structure;  /* qs_structure */
	uint8_t part;       /* qs_part */
	uint8_t depth;      /* d: counters per key */
	uint8_t z;          /* sf: fat counters per slim counter */
	uint8_t log2_masks; /* the number of masks H is 2^log2_masks */
} qs_params;

/*
 * The properties in which structures differ.  Code outside of CUDA kernels reads them from
 * qs_structures.
 */
typedef struct qs_structure_facts
{
	const char *name;
	uint8_t width; /* m: counters of a bucket, from which masks choose; 0: rows */
	uint8_t unit;  /* bytes of a bucket, or of a counter of a row */
	uint8_t depth_max;
	bool rows;    /* d rows of independent counters, and no masks */
	uint8_t high; /* counters of a high bucket, to which one-byte counters overflow; 0: none */
	bool fat;     /* z fat counters for each slim counter; the two tables can be separate parts */
} qs_structure_facts;

/* Indexed by qs_structure.  CUDA kernels cannot use this table or the functions that read it. */
extern const qs_structure_facts qs_structures[QS_STRUCTURES];

static inline bool
qs_has_rows(int structure)
{
	return qs_structures[structure].rows;
}

static inline bool
qs_has_high(int structure)
{
	return qs_structures[structure].high > 0;
}

static inline bool
qs_has_fat(int structure)
{
	return qs_structures[structure].fat;
}

/* Returns m, or 0 for rows. */
static inline uint32_t
qs_bucket_width(int structure)
{
	return qs_structures[structure].width;
}

static inline uint32_t
qs_depth_max(int structure)
{
	return qs_structures[structure].depth_max;
}

/* Returns the structure's name in SQL, or NULL if the number is unknown. */
extern const char *qs_structure_name(int structure);

/* Returns the qs_structure with this name, or 0. */
extern int qs_structure_by_name(const char *name, size_t length);

/*
 * Returns the table's size in bytes divided by n, with narrow counters.  If the structure has rows,
 * this is the size of d counters, one of each row, else the size of a bucket.
 */
extern uint64_t qs_block_bytes(const qs_params *p);

/* The parameters that a user gives. */
typedef struct qs_choice
{
	int structure; /* qs_structure */
	uint64_t size; /* in bytes; rounded down to whole buckets */
	int64_t depth;
	int64_t z;
	int64_t masks; /* number of masks, a power of two */
	uint64_t seed;
} qs_choice;

/* Checks the user's choice, and makes parameters from it. */
extern qb_status qs_params_make(qs_params *p, const qs_choice *choice);

/* Checks the ranges of parameters from an untrusted source. */
extern qb_status qs_params_check(const qs_params *p);

/* Returns the n of a sketch of "size" bytes. */
extern uint64_t qs_params_n(int structure, uint32_t depth, uint64_t size);

/* True if folding can change "from" into "to": only n differs, by a factor of a power of two. */
extern bool qs_params_fold(const qs_params *from, const qs_params *to);

/* True if the parameters are equal. */
extern bool qs_params_mergeable(const qs_params *a, const qs_params *b);

/*
 * Returns the maximum number of distinct keys of an explicit sketch, 1 .. QS_EXPLICIT_MAX.  Entries
 * of 16 bytes take at most half of the memory that queries read, unless this memory has less than
 * 32 bytes.  The limit depends only on the parameters, and folding never raises it.  Each part of
 * an sf sketch has the limit of the full sketch.
 */
extern uint32_t qs_explicit_limit(const qs_params *p);

QB_INLINE uint32_t
qs_mask_count(const qs_params *p)
{
	return UINT32_C(1) << p->log2_masks;
}

/* True for a full sketch and a host part of sf, which have a fat table. */
static inline bool
qs_has_extra(const qs_params *p)
{
	return qs_has_fat(p->structure) && p->part != QS_PART_DEVICE;
}

QB_INLINE bool
qs_has_table(const qs_params *p)
{
	return p->part != QS_PART_HOST;
}

/* Return the bytes of a sketch's table, and of its extra table (multilevel: of one high bucket). */
extern uint64_t qs_table_bytes(const qs_params *p, bool wide);
extern uint64_t qs_extra_bytes(const qs_params *p, bool wide);

/* Returns the bytes of all tables, with "high" high buckets. */
extern uint64_t qs_tables_bytes(const qs_params *p, bool wide, uint64_t high);

/*
 * ---- hash masks: which d of a bucket's m counters a key owns ----
 *
 * A sketch has H masks (a power of two up to 65536), each with exactly d of m bits set.  Bit i
 * selects counter i.  A mask is drawn without bias from a random stream that depends only on seed,
 * m, d and the mask's index.  So a mask can be computed without the table of masks.  A table of H
 * masks begins with the table of H/2 masks.  Paper: section III-A.
 *
 * A key's mask is a mask of the table, rotated by 0 .. m-1 positions.  Two keys of a bucket with
 * equal masks own the same counters (sf: the same slim counters).  There are C(m, d) possible
 * masks, which can be thousands.  With 1024 masks and no rotation, two keys have equal masks 4 to 6
 * times as often as with all possible masks.  Without rotation, multilevel loses a fifth of its
 * accuracy, and warp a sixteenth.  With rotation, 1024 masks are as accurate as all possible masks.
 */

#define QS_MASKS_MAX     65536
#define QS_MASK_BITS_MAX 32

/*
 * Computes mask number "index", with d of m bits set, by Floyd's sampling.  Each bit of the mask
 * takes one draw of 32 bits.  The d draws are slow, so hot loops read masks from a table.
 */
QB_INLINE uint32_t
qs_mask(uint64_t seed_key, uint32_t m, uint32_t d, uint32_t index)
{
	uint64_t state = qb_mix64(seed_key ^ ((uint64_t) m << 40 | (uint64_t) d << 32 | index));
	uint32_t mask = 0;
	uint32_t j;

	for (j = m - d; j < m; j++)
	{
		uint64_t draw = qb_mix64(state += QB_ROW_STEP) >> 32;
		uint32_t bit = UINT32_C(1) << (uint32_t) ((draw * (j + 1)) >> 32);

		mask |= (mask & bit) ? UINT32_C(1) << j : bit;
	}
	return mask;
}

/*
 * Returns the number of positions by which hv rotates its mask.  Uses bits 16 to 31 of hv.  Lower
 * bits index the table of masks, and higher bits choose the bucket.
 */
QB_INLINE uint32_t
qs_mask_positions(uint32_t m, uint64_t hv)
{
	return (((uint32_t) hv >> 16) * m) >> 16;
}

QB_INLINE uint32_t
qs_mask_rotate_by(uint32_t mask, uint32_t m, uint32_t positions)
{
	/* two shifts, because m - positions may be 32 */
	uint32_t below = mask >> 1 >> (m - 1 - positions);

	return (mask << positions | below) & (UINT32_MAX >> (32 - m));
}

/* Returns the mask, rotated by the number of positions that hv chooses. */
QB_INLINE uint32_t
qs_mask_rotation(uint32_t mask, uint32_t m, uint64_t hv)
{
	return qs_mask_rotate_by(mask, m, qs_mask_positions(m, hv));
}

#endif
