/*
 * crc32c.h
 *		CRC-32C (Castagnoli), the checksum of serialized values.
 *
 * src/base/crc32c.h
 */
#ifndef QB_CRC32C_H
#define QB_CRC32C_H

#include "base/port.h"

#define QB_CRC32C_INIT UINT32_C(0xFFFFFFFF)

/*
 * Continues a checksum by "length" bytes.  The first call passes QB_CRC32C_INIT.  The checksum of
 * all bytes is the last result xor QB_CRC32C_INIT.  Uses the CRC instruction on x86-64 processors
 * with SSE 4.2 and PCLMULQDQ, and under Linux on 64-bit ARM processors that have a CRC instruction.
 */
extern uint32_t qb_crc32c(uint32_t crc, const uint8_t *bytes, size_t length);

/*
 * Returns the checksum of all bytes.  The four bytes at offset "field", which store the checksum,
 * count as zeros.
 */
extern uint32_t qb_checksum(const uint8_t *bytes, size_t length, size_t field);

/* The plain version, whose results qb_crc32c() must equal. */
extern uint32_t qb_crc32c_plain(uint32_t crc, const uint8_t *bytes, size_t length);

#endif
