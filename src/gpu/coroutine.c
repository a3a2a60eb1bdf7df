/*
 * coroutine.c
 *		Requests in the GPU worker that wait for their devices while others go on.
 *
 * Coroutines are those of the C library (ucontext.h), each with a stack of its own.  Nothing in
 * them looks at the depth of the stack, and an error that they raise ends the worker.
 *
 * src/gpu/coroutine.c
 */
#include "postgres.h"

#include "gpu/coroutine.h"

#include <sys/mman.h>
#include <ucontext.h>

/* A stack has a page below it that nobody may touch. */
#define STACK_BYTES ((Size) 1 << 20)
#define GUARD_BYTES ((Size) 1 << 16)

#define NOBODY (-1)

typedef struct Coroutine
{
	ucontext_t context;
	char *stack; /* NULL: it has never been started */
	void (*run)(int number);
} Coroutine;

static Coroutine coroutine[GPU_DEVICES_MAX];
static ucontext_t worker;
static int current = NOBODY;

/* The first function of a coroutine.  When it returns, the worker goes on. */
static void
begin(int number)
{
	coroutine[number].run(number);
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
GpuStartCoroutine(int number, void (*run)(int number))
{
	Coroutine *c = &coroutine[number];

	if (c->stack == NULL)
		c->stack = make_stack();
	c->run = run;
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
	current = number;
	swapcontext(&worker, &coroutine[number].context);
	current = NOBODY;
}

int
GpuCoroutine(void)
{
	return current;
}

void
GpuPause(void)
{
	if (current != NOBODY)
		swapcontext(&coroutine[current].context, &worker);
}
