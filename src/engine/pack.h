/*
 * pack.h
 *		Packing with the instructions that isa.h chooses.
 *
 * The same bytes as base/pack.h has at all levels, and what are no packed bytes
 * are none at all levels.
 *
 * src/engine/pack.h
 */
#ifndef QS_ENGINE_PACK_H
#define QS_ENGINE_PACK_H

#include "base/pack.h"

extern size_t qs_pack(const uint8_t *bytes, uint32_t count, uint8_t *packed, size_t room);
extern bool qs_unpack(const uint8_t *packed, size_t length, uint8_t *bytes, uint32_t count);

#endif
