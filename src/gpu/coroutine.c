/*
 * coroutine.c
 *		Requests in the GPU worker that wait for their devices while others go on.
 *
 * Coroutines are those of the C library (ucontext.h), each with a stack of its own.  Nothing in
 * them looks at the depth of the stack, and an error that they raise ends the worker.  To change
 * from one to another takes a system call, so a single device is served without them.
 *
 * src/gpu/coroutine.c
 */
#include "postgres.h"

#include "gpu/coroutine.h"

#include <sys/mman.h>
#include <ucontext.h>

#include "port/pg_bitutils.h"

/* A stack has some bytes below it that nobody may touch. */
#define STACK_BYTES ((Size) 8 << 20)
#define GUARD_BYTES ((Size) 1 << 16)

#define NOBODY (-1)

typedef struct Coroutine
{
	ucontext_t context;
	char *stack; /* NULL: it has never been started */
	void (*run)(int number);
	uint32 devices; /* 0: it has ended */
} Coroutine;

static Coroutine coroutine[GPU_DEVICES_MAX];
static ucontext_t worker;
static int current = NOBODY;

/* The first function of a coroutine.  When it returns, the worker goes on. */
static void
begin(int number)
{
	coroutine[number].run(number);
	coroutine[number].devices = 0;
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

void
GpuStartCoroutine(uint32 devices, void (*run)(int number))
{
	int number = pg_rightmost_one_pos32(devices);
	Coroutine *c = &coroutine[number];

	if (gpu_shared->device_count == 1)
	{
		run(number); /* nobody could go on meanwhile */
		return;
	}
	Assert(c->devices == 0);
	if (c->stack == NULL)
		c->stack = make_stack();
	c->run = run;
	c->devices = devices;
	getcontext(&c->context);
	c->context.uc_stack.ss_sp = c->stack;
	c->context.uc_stack.ss_size = STACK_BYTES;
	c->context.uc_link = &worker;
	makecontext(&c->context, (void (*)(void)) begin, 1, number);
	GpuResumeCoroutine(number);
}

void
GpuResumeCoroutine(int number)
{
	if (coroutine[number].devices == 0)
		return;
	current = number;
	swapcontext(&worker, &coroutine[number].context);
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
		swapcontext(&coroutine[current].context, &worker);
}
