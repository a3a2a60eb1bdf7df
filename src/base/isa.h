/*
 * isa.h
 *		Chooses the vector instructions that all CPU engines use.
 *
 * Each CPU engine has tables of inner loops for the levels of qb_isa.  All levels compute the same
 * bytes.  The first use chooses the best level that the processor supports.  A setting and tests
 * can choose another level.
 *
 * src/base/isa.h
 */
#ifndef QB_ISA_H
#define QB_ISA_H

#include "base/port.h"

/* Levels of one architecture ascend: each level includes the instructions of all lower levels. */
typedef enum qb_isa
{
	QB_ISA_SCALAR,
	QB_ISA_NEON,  /* ARM only; every 64-bit ARM processor has NEON */
	QB_ISA_AVX2,  /* AVX2 and POPCNT */
	QB_ISA_AVX512 /* AVX-512 F, BW, DQ and VL, BMI2 and POPCNT */
} qb_isa;

#define QB_ISAS (QB_ISA_AVX512 + 1)

/* Returns "scalar", "neon", "avx2" or "avx512". */
extern const char *qb_isa_name(qb_isa isa);

/* True if this processor has the instructions. */
extern bool qb_isa_usable(qb_isa isa);

/* The level in use. */
extern qb_isa qb_isa_now(void);

/*
 * Switches to the level with this name, or for "auto" to the best level.  Returns false and changes
 * nothing if no level has this name, or if the processor lacks the level.
 */
extern bool qb_isa_use(const char *name);

#endif
