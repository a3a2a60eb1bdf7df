/*
 * base64.h
 *		Base64 with the instructions that isa.h chooses.
 *
 * The same text and bytes as base/base64.h has at all levels, and what is no
 * base64 is none at all levels.
 *
 * src/engine/base64.h
 */
#ifndef QS_ENGINE_BASE64_H
#define QS_ENGINE_BASE64_H

#include "base/base64.h"

extern void qs_base64_encode(const uint8_t *bytes, size_t count, char *text);
extern bool qs_base64_decode(const char *text, size_t length, uint8_t *bytes, size_t *count);

#endif
