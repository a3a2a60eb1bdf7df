/*
 * isa.h
 *		Which vector instructions the CPU engines use: one choice for all.
 *
 * Every engine has a table of its inner loops indexed by qs_isa.  All levels
 * give the same bytes.  The best one that the processor has is chosen at first
 * use; a setting and tests choose others.
 *
 * src/base/isa.h
 */
#ifndef QS_ISA_H
#define QS_ISA_H

#include "base/port.h"

/* Each includes those before it. */
typedef enum qs_isa
{
	QS_ISA_SCALAR,
	QS_ISA_AVX2,
	QS_ISA_AVX512 /* F, BW, DQ and VL */
} qs_isa;

#define QS_ISAS (QS_ISA_AVX512 + 1)

/* "scalar", "avx2", "avx512". */
extern const char *qs_isa_name(qs_isa isa);

/* Does this processor have the instructions? */
extern bool qs_isa_usable(qs_isa isa);

/* The level in use. */
extern qs_isa qs_isa_now(void);

/*
 * Use the level of this name, or the best one with "auto"; false, and no
 * change, if the processor does not have it or there is none of this name.
 */
extern bool qs_isa_use(const char *name);

#endif
