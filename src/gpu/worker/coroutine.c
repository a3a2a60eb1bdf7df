/*
 * coroutine.c
 *		Lets requests in the GPU worker wait for their devices while other requests are served.
 *
 * The C library makes the coroutines (ucontext.h).  Each coroutine has its own stack, and is used
 * again for later requests.  swapcontext() makes a system call to set the blocked signals.  All
 * coroutines block the same signals, so the worker switches between them by _setjmp() and
 * _longjmp().  No code in a coroutine checks the depth of the stack.  An error that is raised in a
 * coroutine ends the worker.
 *
 * src/gpu/worker/coroutine.c
 */

/* _FORTIFY_SOURCE would reject a jump to another stack, which is intended here. */
#undef _FORTIFY_SOURCE

#include "postgres.h"

#include "gpu/worker/coroutine.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "port/pg_bitutils.h"

/* The size of a stack, and of the guard area below it that must not be accessed. */
#define STACK_BYTES ((Size) 8 << 20)
#define GUARD_BYTES ((Size) 1 << 16)

#define NOBODY (-1)

typedef struct Coroutine
{
	jmp_buf at;  /* where the coroutine continues */
	char *stack; /* NULL: the coroutine has never been started */
	void (*run)(int number);
	uint32 devices; /* devices of its request; 0: the coroutine has ended */
} Coroutine;

static Coroutine coroutine[GPU_DEVICES_MAX];
static jmp_buf worker;
static int current = NOBODY;

/* Save the present state in "from", and continue at "to". */
static void
jump(jmp_buf from, jmp_buf to)
{
	if (_setjmp(from) == 0)
		_longjmp(to, 1);
}

/* The first function of a coroutine.  It serves one request after another. */
static void
call_all(int number)
{
	Coroutine *c = &coroutine[number];

	for (;;)
	{
		c->run(number);
		c->devices = 0;
		jump(c->at, worker);
	}
}

static char *
make_stack(void)
{
	char *memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED || mprotect(memory, GUARD_BYTES, PROT_NONE) != 0)
		ereport(FATAL, (errcode(ERRCODE_OUT_OF_MEMORY),
						errmsg("qsketch GPU worker has no memory for a stack")));
	return memory + GUARD_BYTES;
}

/* Start a coroutine on a new stack. */
static void
enter(int number)
{
	ucontext_t context;

	coroutine[number].stack = make_stack();
	getcontext(&context);
	context.uc_stack.ss_sp = coroutine[number].stack;
	context.uc_stack.ss_size = STACK_BYTES;
	context.uc_link = NULL;
	makecontext(&context, (void (*)(void)) call_all, 1, number);
	if (_setjmp(worker) == 0)
		setcontext(&context);
}

void
GpuStartCoroutine(uint32 devices, void (*run)(int number))
{
	int number = pg_rightmost_one_pos32(devices);
	Coroutine *c = &coroutine[number];

	if (gpu_shared->device_count == 1)
	{
		run(number); /* run() does not pause without coroutines */
		return;
	}
	Assert(c->devices == 0);
	c->run = run;
	c->devices = devices;
	GpuResumeCoroutine(number);
}

void
GpuResumeCoroutine(int number)
{
	Coroutine *c = &coroutine[number];

	if (c->devices == 0)
		return;
	current = number;
	if (c->stack)
		jump(worker, c->at);
	else
		enter(number);
	current = NOBODY;
}

int
GpuCoroutine(void)
{
	return Max(current, 0);
}

uint32
GpuBusyDevices(void)
{
	uint32 busy = 0;
	int i;

	for (i = 0; i < GPU_DEVICES_MAX; i++)
		if (i != current)
			busy |= coroutine[i].devices;
	return busy;
}

void
GpuPause(void)
{
	if (current != NOBODY)
		jump(coroutine[current].at, worker);
}
