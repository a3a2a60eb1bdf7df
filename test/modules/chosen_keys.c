/*
 * chosen_keys.c
 *		Keys that share slots in tables whose slots can be computed, for tests.
 *
 * Tables in memory choose slots by a secret (base/slot.h).  In a table that chose slots by
 * qb_mix64() alone, or by a constant multiplier, all keys of a test would have one slot.
 *
 *	mix64(bigint) bigint			qb_mix64() of the key
 *	unmix64(bigint) bigint			the key whose qb_mix64() is the argument
 *	multiply(bigint) bigint			QB_ROW_STEP times the key, after an xor of its lower half
 *									with its upper half
 *	unmultiply(bigint) bigint		the key whose multiply() is the argument
 *	partner(bigint) bigint			the key b for which (key ^ key >> 29) * FIRST_FACTOR ^ b is 0;
 *									this expression is a hash of two keys without a secret
 *
 * test/modules/chosen_keys.c
 */
#include "postgres.h"

#include "../unit/unmix.h"
#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(mix64);
PG_FUNCTION_INFO_V1(unmix64);
PG_FUNCTION_INFO_V1(multiply);
PG_FUNCTION_INFO_V1(unmultiply);
PG_FUNCTION_INFO_V1(partner);

#define FIRST_FACTOR  UINT64CONST(0xBF58476D1CE4E5B9)
#define SECOND_FACTOR UINT64CONST(0x94D049BB133111EB)
#define ROW_STEP      UINT64CONST(0x9E3779B97F4A7C15)

Datum
mix64(PG_FUNCTION_ARGS)
{
	uint64 x = (uint64) PG_GETARG_INT64(0);

	x = (x ^ x >> 30) * FIRST_FACTOR;
	x = (x ^ x >> 27) * SECOND_FACTOR;
	PG_RETURN_INT64((int64) (x ^ x >> 31));
}

Datum
unmix64(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64((int64) test_unmix((uint64) PG_GETARG_INT64(0)));
}

Datum
multiply(PG_FUNCTION_ARGS)
{
	uint64 x = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_INT64((int64) ((x ^ x >> 32) * ROW_STEP));
}

Datum
unmultiply(PG_FUNCTION_ARGS)
{
	uint64 x = (uint64) PG_GETARG_INT64(0) * test_inverse_of(ROW_STEP);

	PG_RETURN_INT64((int64) (x ^ x >> 32));
}

Datum
partner(PG_FUNCTION_ARGS)
{
	uint64 x = (uint64) PG_GETARG_INT64(0);

	PG_RETURN_INT64((int64) ((x ^ x >> 29) * FIRST_FACTOR));
}
