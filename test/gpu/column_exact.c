/*
 * column_exact.c
 *		Exact counts of keys on the device against counts of the sorted keys on the CPU.
 *
 *	column_exact [first case [number of cases]]
 *	column_exact time [keys [distinct]]
 *
 * "time" prints how long it takes to count so many keys that lie on the device already.
 *
 * test/gpu/column_exact.c
 */
#include "support.h"

#include <time.h>

#include "column_cuda.h"

#define KEYS (1 << 20)

typedef struct counted
{
	int64_t key;
	int64_t times;
} counted;

static uint64_t wrong;

static uint64_t
draw(uint64_t *state, uint64_t below)
{
	return qb_reduce(qb_mix64(*state += QB_ROW_STEP), below);
}

static int
compare_keys(const void *a, const void *b)
{
	int64_t x = *(const int64_t *) a, y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

static int
compare_counted(const void *a, const void *b)
{
	const counted *x = a, *y = b;

	if (x->times != y->times)
		return x->times < y->times ? 1 : -1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Count sorted keys, and order them by count. */
static uint64_t
count_here(uint64_t *key, uint64_t keys, counted *list)
{
	uint64_t count = 0;

	qsort(key, keys, sizeof(*key), compare_keys);
	for (uint64_t i = 0; i < keys; i++)
	{
		if (count == 0 || list[count - 1].key != (int64_t) key[i])
			list[count++] = (counted){ .key = (int64_t) key[i] };
		list[count - 1].times++;
	}
	qsort(list, count, sizeof(*list), compare_counted);
	return count;
}

/* Keys of many kinds: in any bits, of both signs, few and many distinct ones. */
static void
draw_keys(uint64_t number, uint64_t *key, uint64_t keys)
{
	uint64_t state = number;
	uint64_t values = draw(&state, 4) == 0 ? 1 + draw(&state, 20) : 1 + draw(&state, KEYS);
	uint32_t shift = (uint32_t) draw(&state, 44);
	uint64_t base = draw(&state, 3) == 0 ? 0 : qb_mix64(number);

	for (uint64_t i = 0; i < keys; i++)
		key[i] = base + ((draw(&state, values) - values / 2) << shift);
}

static void
expect(uint64_t number, bool same, const char *what)
{
	if (same)
		return;
	wrong++;
	printf("case %llu: %s differ\n", (unsigned long long) number, what);
}

/* Add the keys in batches, some from the host and some that are on the device. */
static qb_status
add_batches(qs_cuda_exact *exact, uint64_t *state, const uint64_t *key, const uint64_t *device,
			uint64_t keys)
{
	qb_status status = QB_OK;
	uint64_t some;

	for (uint64_t at = 0; at < keys && status == QB_OK; at += some)
	{
		some = 1 + draw(state, 200000);
		some = some < keys - at ? some : keys - at;
		if (draw(state, 2) == 0)
			status = qs_cuda_exacts.add(exact, key + at, some);
		else
			status = qs_cuda_exacts.add_device(exact, device + at, some);
	}
	return status;
}

/* Fetch the order in pieces, and compare it with that of the CPU. */
static bool
same_order(qs_cuda_exact *exact, uint64_t found, const counted *list)
{
	static uint64_t key[10000];
	static int64_t times[10000];
	bool same = true;

	for (uint64_t at = 0; at < found && same; at += 10000)
	{
		uint64_t some = found - at < 10000 ? found - at : 10000;

		CHECK(qs_cuda_exacts.get(exact, at, some, key, times) == QB_OK);
		for (uint64_t i = 0; i < some && same; i++)
			same = (int64_t) key[i] == list[at + i].key && times[i] == list[at + i].times;
	}
	return same;
}

/* Count keys of the host on the second device, and merge. */
static qb_status
merge_others(qs_cuda *second, qs_cuda_exact *exact, const uint64_t *key, uint64_t keys)
{
	qs_cuda_exact *other;
	qb_status status;

	CHECK(qs_cuda_exacts.create(second, keys + 1, &other) == QB_OK);
	CHECK(qs_cuda_exacts.add(other, key, keys) == QB_OK);
	CHECK(keys % 2 == 0 || qs_cuda_exacts.list(other) == QB_OK);
	status = qs_cuda_exacts.merge(exact, other);
	qs_cuda_exacts.destroy(other);
	return status;
}

static void
run_case(qs_cuda *gpu, qs_cuda *second, uint64_t number)
{
	static uint64_t key[KEYS];
	static counted list[KEYS];
	uint64_t state = number + 1000;
	uint64_t keys = number % 10 == 0 ? draw(&state, 3) : 1 + draw(&state, KEYS);
	uint64_t room = 1 + draw(&state, 2 * keys + 1);
	uint64_t found = 0, distinct, first;
	uint64_t *device;
	qs_cuda_exact *exact;
	qb_status status;

	draw_keys(number, key, keys);
	CHECK(qs_cuda_keys_create(gpu, keys, &device) == QB_OK);
	CHECK(keys == 0 || qs_cuda_keys_put(gpu, device, key, keys) == QB_OK);
	CHECK(qs_cuda_exacts.create(gpu, room, &exact) == QB_OK);
	first = draw(&state, 2) ? keys : draw(&state, keys + 1);
	status = add_batches(exact, &state, key, device, first);
	if (status == QB_OK && draw(&state, 2))
		CHECK(qs_cuda_exacts.list(exact) == QB_OK);
	if (status == QB_OK && first < keys)
		status = merge_others(second, exact, key + first, keys - first);
	distinct = count_here(key, keys, list);
	if (status == QB_NO_MEMORY)
		expect(number, room < keys && distinct > room / 2, "keys that fit");
	else
	{
		CHECK(status == QB_OK);
		CHECK(qs_cuda_exacts.order(exact, &found) == QB_OK);
		expect(number, found == distinct, "numbers of distinct keys");
		expect(number, found != distinct || same_order(exact, found, list), "orders");
	}
	qs_cuda_exacts.destroy(exact);
	qs_cuda_keys_destroy(gpu, device, keys);
}

static double
now_ms(void)
{
	struct timespec now;

	timespec_get(&now, TIME_UTC);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* The time from the first key to the 20 best, with memory made for it or before. */
static void
time_one(qs_cuda *gpu, const uint64_t *device, uint64_t keys)
{
	uint64_t key[20], found;
	int64_t times[20];
	qs_cuda_exact *exact;
	double begin = now_ms(), made;

	CHECK(qs_cuda_exacts.create(gpu, keys, &exact) == QB_OK);
	made = now_ms();
	CHECK(qs_cuda_exacts.add_device(exact, device, keys) == QB_OK);
	CHECK(qs_cuda_exacts.order(exact, &found) == QB_OK);
	CHECK(qs_cuda_exacts.get(exact, 0, found < 20 ? found : 20, key, times) == QB_OK);
	printf("%llu keys, %llu distinct: memory %.2f ms, counts %.2f ms\n", (unsigned long long) keys,
		   (unsigned long long) found, made - begin, now_ms() - made);
	qs_cuda_exacts.destroy(exact);
}

static void
time_all(qs_cuda *gpu, uint64_t keys, uint64_t distinct)
{
	uint64_t *key = malloc(keys * sizeof(*key));
	uint64_t state = 1;
	uint64_t *device;

	CHECK(key);
	for (uint64_t i = 0; i < keys; i++)
	{
		double u = (double) (draw(&state, UINT64_C(1) << 53)) / 9007199254740992.0;

		key[i] = (uint64_t) (u * u * u * (double) distinct);
	}
	CHECK(qs_cuda_keys_create(gpu, keys, &device) == QB_OK);
	CHECK(qs_cuda_keys_put(gpu, device, key, keys) == QB_OK);
	for (int turn = 0; turn < 5; turn++)
		time_one(gpu, device, keys);
	qs_cuda_keys_destroy(gpu, device, keys);
	free(key);
}

int
main(int argc, char **argv)
{
	bool timed = argc > 1 && strcmp(argv[1], "time") == 0;
	uint64_t first = argc > 1 && !timed ? strtoull(argv[1], NULL, 10) : 0;
	uint64_t cases = argc > 2 ? strtoull(argv[2], NULL, 10) : 100;
	qs_cuda_error error;
	qs_cuda *gpu, *second;

	if (qs_cuda_open(0, NULL, &gpu, &error) != QB_OK)
	{
		printf("no usable device: %s\n", error.name);
		return 2;
	}
	if (timed)
	{
		time_all(gpu, argc > 2 ? strtoull(argv[2], NULL, 10) : 100000000,
				 argc > 3 ? strtoull(argv[3], NULL, 10) : 20000000);
		qs_cuda_close(gpu);
		return 0;
	}
	second = open_second(gpu);
	for (uint64_t i = first; i < first + cases; i++)
		run_case(gpu, second, i);
	qs_cuda_close(second);
	qs_cuda_close(gpu);
	printf("column_exact: %llu cases, %llu differences\n", (unsigned long long) cases,
		   (unsigned long long) wrong);
	return wrong != 0;
}
