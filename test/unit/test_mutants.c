/*
 * test_mutants.c
 *		Values of all types with small damage that their checksum does not show.
 *
 * The environment variable QSKETCH_MUTANTS says how many mutants of each type are
 * tried.  They are the same each time, and are shared among the processors.
 *
 * test/unit/test_mutants.c
 */
#include "filter_mutants.h"
#include "mutants.h"
#include "sets_mutants.h"

#include <sys/wait.h>
#include <unistd.h>

/* How many mutants are tried unless the environment says otherwise. */
#define SKETCHES    300000
#define FILTERS     100000
#define COLLECTIONS 100000

/* Tries one mutant, and tells if it was valid. */
typedef bool (*trial)(mutator *m);

/* One share of the mutants; how many of them were valid? */
static uint64_t
try_share(trial try, uint64_t share, uint64_t shares, uint64_t count)
{
	uint64_t valid = 0;
	uint64_t i;

	for (i = share; i < count; i += shares)
	{
		mutator m = { .rng = test_seeded(i) };

		WHERE("mutant %llu", (unsigned long long) i);
		valid += try(&m);
	}
	return valid;
}

/*
 * Run a share in a process of its own, which succeeds if all went well and enough
 * mutants were valid.
 */
static pid_t
start_share(trial try, uint64_t share, uint64_t shares, uint64_t count)
{
	pid_t child = fork();

	REQUIRE(child >= 0);
	if (child == 0)
	{
		uint64_t valid = try_share(try, share, shares, count);

		fprintf(stderr, "share %d of %d: %llu mutants, %llu of them valid\n", (int) share + 1,
				(int) shares, (unsigned long long) (count / shares), (unsigned long long) valid);
		_exit(valid < count / shares / 20);
	}
	return child;
}

static void
try_all(trial try, uint64_t usual)
{
	const char *asked = getenv("QSKETCH_MUTANTS");
	uint64_t count = asked ? strtoull(asked, NULL, 10) : usual;
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t shares = processors < 1 ? 1 : processors > 64 ? 64 : (uint64_t) processors;
	bool sound = true;
	int status;
	uint64_t i;

	for (i = 0; i < shares; i++)
		start_share(try, i, shares, count);
	for (i = 0; i < shares; i++)
		sound &= wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
	REQUIRE(sound);
}

static void
sketches(void **state)
{
	(void) state;
	try_all(try_mutant, SKETCHES);
}

static void
filters(void **state)
{
	(void) state;
	try_all(try_filter_mutant, FILTERS);
}

static void
collections(void **state)
{
	(void) state;
	try_all(try_sets_mutant, COLLECTIONS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sketches),
		cmocka_unit_test(filters),
		cmocka_unit_test(collections),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
