/*
 * isa.h
 *		Which vector instructions the CPU engines use: one choice for all.
 *
 * Every engine has a table of its inner loops, indexed by qb_isa.  All levels give
 * the same bytes.  The best level that the processor has is chosen at first use; a
 * setting and tests can choose another.
 *
 * src/base/isa.h
 */
#ifndef QB_ISA_H
#define QB_ISA_H

#include "base/port.h"

/* Levels of one architecture ascend: each level includes the earlier ones. */
typedef enum qb_isa
{
	QB_ISA_SCALAR,
	QB_ISA_NEON,  /* ARM only; every 64-bit ARM processor has it */
	QB_ISA_AVX2,  /* AVX2, and POPCNT, which comes with it */
	QB_ISA_AVX512 /* AVX-512 F, BW, DQ and VL, and BMI2 and POPCNT, which come with them */
} qb_isa;

#define QB_ISAS (QB_ISA_AVX512 + 1)

/* "scalar", "neon", "avx2", "avx512". */
extern const char *qb_isa_name(qb_isa isa);

/* True if this processor has the instructions. */
extern bool qb_isa_usable(qb_isa isa);

/* The level in use. */
extern qb_isa qb_isa_now(void);

/*
 * Use the level of this name, or with "auto" the best one.  Returns false and
 * changes nothing if no level has this name or the processor lacks it.
 */
extern bool qb_isa_use(const char *name);

#endif
