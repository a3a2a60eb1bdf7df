/*
 * trials.h
 *		Many mutants, tried in one process per processor, in at most 64 processes.
 *
 * QSKETCH_MUTANTS in the environment sets the number of mutants of each type.  Mutants are
 * the same in each run.
 *
 * test/unit/trials.h
 */
#ifndef QS_TEST_TRIALS_H
#define QS_TEST_TRIALS_H

#include "mutator.h"

#include <sys/wait.h>
#include <unistd.h>

/* Tests one mutant; returns true if the mutant was valid. */
typedef bool (*trial)(mutator *m);

/* Test mutants share, share + shares, and so on; returns the number of valid mutants. */
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
 * Start a process that calls try_share().  The process succeeds if no check fails and at
 * least 5 % of its mutants are valid.
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

#endif
