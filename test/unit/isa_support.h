/*
 * isa_support.h
 *		Running tests with every instruction set.
 *
 * test/unit/isa_support.h
 */
#ifndef QS_TEST_ISA_H
#define QS_TEST_ISA_H

#include "support.h"

#include "base/isa.h"

/*
 * Names of instruction sets for qb_isa_use(), which returns false for sets that the processor
 * lacks.
 */
static const char *const test_isas[] = { "scalar", "neon", "avx2", "avx512" };

/*
 * Returns the bytes that "write" makes of a sketch.  Checks that all instruction sets make the
 * same bytes.
 */
static inline test_bytes
test_bytes_by_all(const qs_sketch *sk, test_bytes (*write)(const qs_sketch *))
{
	test_bytes first = { NULL, 0 };
	size_t s;

	for (s = 0; s < ALL_OF(test_isas); s++)
	{
		test_bytes b;

		if (!qb_isa_use(test_isas[s]))
			continue;
		b = write(sk);
		if (first.data == NULL)
		{
			first = b;
			continue;
		}
		REQUIRE(test_equal_bytes(first, b));
		free(b.data);
	}
	qb_isa_use("auto");
	return first;
}

/* Run a check with each instruction set of this processor. */
static inline void
test_with_each_isa(void (*check)(void))
{
	size_t s;

	for (s = 0; s < ALL_OF(test_isas); s++)
	{
		if (!qb_isa_use(test_isas[s]))
			printf("%s: not on this processor\n", test_isas[s]);
		else
			check();
		test_no_leak();
	}
	qb_isa_use("auto");
}

#endif
