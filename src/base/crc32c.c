/*
 * crc32c.c
 *		CRC-32C (Castagnoli), the checksum of serialized values.
 *
 * PostgreSQL has one too, but base stands without PostgreSQL.  The plain
 * version takes half a byte at a time with a table of 16; the other one uses
 * the instruction of SSE 4.2, eight bytes at a time.
 *
 * src/base/crc32c.c
 */
#include "base/crc32c.h"

/* Remainders of the 16 half bytes for the reflected polynomial 0x82F63B78. */
static const uint32_t half_byte[16] = {
	0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
	0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t
qs_crc32c_plain(uint32_t crc, const uint8_t *bytes, size_t length)
{
	size_t i;

	for (i = 0; i < length; i++)
	{
		crc ^= bytes[i];
		crc = (crc >> 4) ^ half_byte[crc & 15];
		crc = (crc >> 4) ^ half_byte[crc & 15];
	}
	return crc;
}

#ifdef __x86_64__

__attribute__((target("sse4.2"))) static uint32_t
crc32c_sse42(uint32_t crc, const uint8_t *bytes, size_t length)
{
	uint64_t wide = crc;

	for (; length >= 8; bytes += 8, length -= 8)
		wide = __builtin_ia32_crc32di(wide, qs_load64(bytes));
	crc = (uint32_t) wide;
	for (; length > 0; bytes++, length--)
		crc = __builtin_ia32_crc32qi(crc, *bytes);
	return crc;
}

uint32_t
qs_crc32c(uint32_t crc, const uint8_t *bytes, size_t length)
{
	if (__builtin_cpu_supports("sse4.2"))
		return crc32c_sse42(crc, bytes, length);
	return qs_crc32c_plain(crc, bytes, length);
}

#else

uint32_t
qs_crc32c(uint32_t crc, const uint8_t *bytes, size_t length)
{
	return qs_crc32c_plain(crc, bytes, length);
}

#endif

uint32_t
qs_checksum(const uint8_t *bytes, size_t length, size_t field)
{
	static const uint8_t zero[4] = { 0 };
	size_t after = field + sizeof(zero);
	uint32_t crc = QS_CRC32C_INIT;

	crc = qs_crc32c(crc, bytes, field);
	crc = qs_crc32c(crc, zero, sizeof(zero));
	crc = qs_crc32c(crc, bytes + after, length - after);
	return crc ^ QS_CRC32C_INIT;
}
