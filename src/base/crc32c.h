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
 * Continue a checksum, which starts as QB_CRC32C_INIT.  The final value is the result exclusive-or
 * QB_CRC32C_INIT.  Uses the processor's CRC instruction if it has one.
 */
extern uint32_t qb_crc32c(uint32_t crc, const uint8_t *bytes, size_t length);

/*
 * The final checksum of all bytes.  The four bytes at "field", where the checksum itself is stored,
 * count as zero.
 */
extern uint32_t qb_checksum(const uint8_t *bytes, size_t length, size_t field);

/* The plain version, which the fast one must agree with. */
extern uint32_t qb_crc32c_plain(uint32_t crc, const uint8_t *bytes, size_t length);

#endif
