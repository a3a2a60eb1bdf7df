/*
 * sketch_units.h
 *		Fast loops over the units of tables (sketch/unit_kernels.h), by instruction set.
 *
 * src/engine/sketch_units.h
 */
#ifndef QS_SKETCH_UNITS_H
#define QS_SKETCH_UNITS_H

#include "base/isa.h"
#include "sketch/unit_kernels.h"

#ifdef __x86_64__
extern uint64_t qs_avx2_present_low(const uint8_t *low, uint64_t count);
extern uint64_t qs_avx2_have_index(const uint8_t *low, uint64_t count);
extern uint64_t qs_avx2_present_cells(const uint8_t *table, uint32_t bytes, uint64_t count);
extern uint64_t qs_avx2_measure_low(const uint8_t *low, uint64_t present, uint64_t *apart);
extern uint64_t qs_avx2_measure_cells(const uint8_t *table, uint32_t width, uint64_t present);
extern uint64_t qs_avx512_put_low(qs_unit_writer *w, const uint8_t *limit, const uint8_t *low,
								  uint64_t first, uint64_t bits);
extern uint64_t qs_avx512_put_cells(qs_unit_writer *w, const uint8_t *limit, const uint8_t *table,
									uint32_t width, uint64_t first, uint64_t bits);
#endif

#endif
