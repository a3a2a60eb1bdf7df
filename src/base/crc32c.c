/*
 * crc32c.c
 *		CRC-32C (Castagnoli), the checksum of serialized values.
 *
 * PostgreSQL has this checksum, too, but base must compile without PostgreSQL.  The plain version
 * processes half a byte in each step, with a table of 16 entries.  The fast versions use the CRC
 * instruction of SSE 4.2 or of ARM, which processes eight bytes.  The instruction of SSE 4.2 takes
 * three cycles, but the processor can start one in each cycle.  So on x86 long values are read as
 * three streams, whose instructions overlap.
 *
 * A checksum is the remainder of a polynomial, and appending bytes multiplies the polynomial by a
 * power of x.  So the checksum of an earlier stream is multiplied by x^b, where b is the number of
 * bits after this stream.  The products of all earlier streams are added to the checksum of the
 * last stream.
 *
 * src/base/crc32c.c
 */
#include "base/crc32c.h"

#if defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

/* Remainders of the 16 half bytes for the reflected polynomial 0x82F63B78. */
static const uint32_t half_byte[16] = {
	0x00000000, 0x105EC76F, 0x20BD8EDE, 0x30E349B1, 0x417B1DBC, 0x5125DAD3, 0x61C69362, 0x7198540D,
	0x82F63B78, 0x92A8FC17, 0xA24BB5A6, 0xB21572C9, 0xC38D26C4, 0xD3D3E1AB, 0xE330A81A, 0xF36E6F75,
};

uint32_t
qb_crc32c_plain(uint32_t crc, const uint8_t *bytes, size_t length)
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

#define SSE42 __attribute__((target("sse4.2,pclmul")))

/*
 * STREAM is n, the number of bytes of a stream.  BEHIND_STREAM is x^(8n - 33), and BEHIND_TWO is
 * x^(16n - 33); multiply() says why 33.
 */
#define STREAM        1024
#define BEHIND_STREAM UINT32_C(0x170076FA)
#define BEHIND_TWO    UINT32_C(0xA51B6135)

typedef long long vector __attribute__((vector_size(16)));

SSE42 static uint32_t
crc32c_sse42(uint32_t crc, const uint8_t *bytes, size_t length)
{
	uint64_t wide = crc;

	for (; length >= 8; bytes += 8, length -= 8)
		wide = __builtin_ia32_crc32di(wide, qb_load64(bytes));
	crc = (uint32_t) wide;
	for (; length > 0; bytes++, length--)
		crc = __builtin_ia32_crc32qi(crc, *bytes);
	return crc;
}

/*
 * Returns the product of two polynomials, which has 63 bits.  The CRC instruction computes the
 * remainder of this product times x^33.
 */
SSE42 static inline uint64_t
multiply(uint64_t crc, uint32_t factor)
{
	vector a = { (long long) crc, 0 };
	vector b = { factor, 0 };

	return (uint64_t) ((vector) __builtin_ia32_pclmulqdq128(a, b, 0))[0];
}

/* Reads three streams in each pass, and the remaining bytes by crc32c_sse42(). */
SSE42 static uint32_t
crc32c_streams(uint32_t crc, const uint8_t *bytes, size_t length)
{
	for (; length >= 3 * STREAM; bytes += 3 * STREAM, length -= 3 * STREAM)
	{
		uint64_t a = crc;
		uint64_t b = 0;
		uint64_t c = 0;
		size_t i;

		for (i = 0; i < STREAM; i += 8)
		{
			a = __builtin_ia32_crc32di(a, qb_load64(bytes + i));
			b = __builtin_ia32_crc32di(b, qb_load64(bytes + STREAM + i));
			c = __builtin_ia32_crc32di(c, qb_load64(bytes + 2 * STREAM + i));
		}
		a = multiply(a, BEHIND_TWO) ^ multiply(b, BEHIND_STREAM);
		crc = (uint32_t) (__builtin_ia32_crc32di(0, a) ^ c);
	}
	return crc32c_sse42(crc, bytes, length);
}

uint32_t
qb_crc32c(uint32_t crc, const uint8_t *bytes, size_t length)
{
	if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
		return crc32c_streams(crc, bytes, length);
	return qb_crc32c_plain(crc, bytes, length);
}

#elif defined(__aarch64__) && defined(__linux__)

/* The bit that <asm/hwcap.h> calls HWCAP_CRC32. */
#define HAS_CRC32 (1 << 7)

/*
 * Uses assembly, because compilers declare the CRC intrinsics only if the build's target processor
 * has CRC instructions.
 */
static uint32_t
crc32c_arm(uint32_t crc, const uint8_t *bytes, size_t length)
{
	for (; length >= 8; bytes += 8, length -= 8)
		__asm__(".arch_extension crc\n\tcrc32cx %w0, %w0, %x1" : "+r"(crc) : "r"(qb_load64(bytes)));
	for (; length > 0; bytes++, length--)
		__asm__(".arch_extension crc\n\tcrc32cb %w0, %w0, %w1" : "+r"(crc) : "r"(*bytes));
	return crc;
}

uint32_t
qb_crc32c(uint32_t crc, const uint8_t *bytes, size_t length)
{
	if (getauxval(AT_HWCAP) & HAS_CRC32)
		return crc32c_arm(crc, bytes, length);
	return qb_crc32c_plain(crc, bytes, length);
}

#else

uint32_t
qb_crc32c(uint32_t crc, const uint8_t *bytes, size_t length)
{
	return qb_crc32c_plain(crc, bytes, length);
}

#endif

uint32_t
qb_checksum(const uint8_t *bytes, size_t length, size_t field)
{
	static const uint8_t zero[4] = { 0 };
	size_t after = field + sizeof(zero);
	uint32_t crc = QB_CRC32C_INIT;

	crc = qb_crc32c(crc, bytes, field);
	crc = qb_crc32c(crc, zero, sizeof(zero));
	crc = qb_crc32c(crc, bytes + after, length - after);
	return crc ^ QB_CRC32C_INIT;
}
