/*
 * test_mutants.c
 *		Sketches with small damage that their checksum does not tell of.
 *
 * QSKETCH_MUTANTS in the environment says how many instead of MUTANTS, the same
 * ones each time, shared among the processors that there are.
 *
 * src/test/unit/test_mutants.c
 */
#include "mutants.h"

#include <sys/wait.h>
#include <unistd.h>

#define MUTANTS 300000

/* One share of the mutants; how many of them were valid? */
static uint64_t
try_share(uint64_t share, uint64_t shares, uint64_t count)
{
	uint64_t valid = 0;
	uint64_t i;

	for (i = share; i < count; i += shares)
	{
		mutator m = { .rng = test_seeded(i) };

		WHERE("mutant %llu", (unsigned long long) i);
		valid += try_mutant(&m);
	}
	return valid;
}

/* In a process of its own, which succeeds if all went well and enough were valid. */
static pid_t
start_share(uint64_t share, uint64_t shares, uint64_t count)
{
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (child == 0)
	{
		uint64_t valid = try_share(share, shares, count);

		fprintf(stderr, "share %d of %d: %llu mutants, %llu of them valid\n", (int) share + 1,
				(int) shares, (unsigned long long) (count / shares), (unsigned long long) valid);
		_exit(valid < count / shares / 20);
	}
	return child;
}

static void
mutants(void **state)
{
	const char *asked = getenv("QSKETCH_MUTANTS");
	uint64_t count = asked ? strtoull(asked, NULL, 10) : MUTANTS;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t shares = processors < 1 ? 1 : processors > 64 ? 64 : (uint64_t) processors;
	bool sound = true;
	int status;
	uint64_t i;

	(void) state;
	for (i = 0; i < shares; i++)
		start_share(i, shares, count);
	for (i = 0; i < shares; i++)
		sound &= wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	REQUIRE(sound);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(mutants),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
