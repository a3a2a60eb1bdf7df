/*
 * column_exact.c
 *		Compares exact counts of keys on the device with counts of the sorted keys on the CPU.
 *
 *	column_exact [first case [number of cases]]
 *	column_exact time [keys [distinct]]
 *
 * "time" prints how long the device takes to count "keys" keys that are in its memory.
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

/* The counts of the CPU, ordered by count. */
typedef struct counts
{
	const counted *list;
	uint64_t distinct;
} counts;

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

/* Sort and count keys, and order the list by count.  Returns the number of distinct keys. */
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

/*
 * Draw positive and negative keys with few or many distinct values.  Values may differ in any bit.
 */
static void
draw_keys(uint64_t number, uint64_t *key, uint64_t keys)
{
	uint64_t state = number;
	uint64_t values =
		draw_below(&state, 4) == 0 ? 1 + draw_below(&state, 20) : 1 + draw_below(&state, KEYS);
	uint32_t shift = (uint32_t) draw_below(&state, 44);
	uint64_t base = draw_below(&state, 3) == 0 ? 0 : qb_mix64(number);

	for (uint64_t i = 0; i < keys; i++)
		key[i] = base + ((draw_below(&state, values) - values / 2) << shift);
}

/* Add the keys in batches, at random from host memory or from device memory. */
static qb_status
add_batches(qs_cuda_exact *exact, uint64_t *state, const uint64_t *key, const uint64_t *device,
			uint64_t keys)
{
	qb_status status = QB_OK;
	uint64_t some;

	for (uint64_t at = 0; at < keys && status == QB_OK; at += some)
	{
		some = 1 + draw_below(state, 200000);
		some = some < keys - at ? some : keys - at;
		if (draw_below(state, 2) == 0)
			status = qs_cuda_exacts.add(exact, key + at, some);
		else
			status = qs_cuda_exacts.add_device(exact, device + at, some);
	}
	return status;
}

/* Returns the next key of the range in the CPU's order, and advances *at.  NULL: no key is left. */
static const counted *
next_between(const counts *here, uint64_t *at, int64_t least, int64_t most)
{
	while (*at < here->distinct && (here->list[*at].key < least || here->list[*at].key > most))
		(*at)++;
	return *at < here->distinct ? &here->list[(*at)++] : NULL;
}

/* True if the device's order of a range, fetched in pieces, equals the CPU's order. */
static bool
same_order(qs_cuda_exact *exact, uint64_t found, const counts *here, int64_t least, int64_t most)
{
	static uint64_t key[10000];
	static int64_t times[10000];
	uint64_t next = 0;
	bool same = true;

	for (uint64_t at = 0; at < found && same; at += 10000)
	{
		uint64_t some = found - at < 10000 ? found - at : 10000;

		CHECK(qs_cuda_exacts.get(exact, at, some, key, times) == QB_OK);
		for (uint64_t i = 0; i < some && same; i++)
		{
			const counted *wanted = next_between(here, &next, least, most);

			same = wanted && (int64_t) key[i] == wanted->key && times[i] == wanted->times;
		}
	}
	return same && next_between(here, &next, least, most) == NULL;
}

/*
 * List the distinct keys of a device, and check that the samples ascend.  Returns the number of
 * keys below "bound".
 */
static uint64_t
make_list(uint64_t number, qs_cuda_exact *exact, int64_t bound, uint64_t *listed)
{
	int64_t sample[QS_CUDA_SAMPLES];
	uint64_t index = 0;

	CHECK(qs_cuda_exacts.list(exact, listed, sample) == QB_OK);
	for (uint32_t i = 1; i < qs_cuda_samples(*listed); i++)
		expect_case(number, sample[i - 1] < sample[i], "samples");
	CHECK(qs_cuda_exacts.find(exact, &bound, 1, &index) == QB_OK);
	CHECK(index <= *listed);
	return index;
}

/* Join slices of a range on the device of the first slice, and order the range. */
static qb_status
join_and_order(const qs_cuda_exact_slice *part, int parts, uint64_t *found)
{
	qb_status status = QB_OK;

	for (int i = 0; i < parts && status == QB_OK; i++)
		status = qs_cuda_exacts.join(part[0].exact, &part[i]);
	return status == QB_OK ? qs_cuda_exacts.order(part[0].exact, found) : status;
}

static void
order_alone(uint64_t number, qs_cuda_exact *exact, const counts *here)
{
	qs_cuda_exact_slice all = { .exact = exact };
	uint64_t found = 0;

	(void) make_list(number, exact, 0, &all.count);
	CHECK(join_and_order(&all, 1, &found) == QB_OK);
	expect_case(number,
				found == here->distinct && same_order(exact, found, here, INT64_MIN, INT64_MAX),
				"orders");
}

/* Order keys below the bound on the first device, and all other keys on the second device. */
static void
order_both(uint64_t number, qs_cuda_exact *const *exact, uint64_t room, int64_t bound,
		   const counts *here)
{
	uint64_t listed[2], index[2], found[2] = { 0, 0 };
	qs_cuda_exact_slice first[2],
		second[2]; /* slices of a range; slice 0 is of the device that orders the range */
	qb_status status;

	for (int i = 0; i < 2; i++)
		index[i] = make_list(number, exact[i], bound, &listed[i]);
	for (int i = 0; i < 2; i++)
	{
		first[i] = (qs_cuda_exact_slice){ exact[i], 0, index[i] };
		second[1 - i] = (qs_cuda_exact_slice){ exact[i], index[i], listed[i] - index[i] };
	}
	status = join_and_order(first, 2, &found[0]);
	CHECK(join_and_order(second, 2, &found[1]) == QB_OK);
	expect_case(number, same_order(exact[1], found[1], here, bound, INT64_MAX),
				"orders of the second");
	if (status == QB_NO_MEMORY)
	{
		expect_case(number, listed[0] + index[0] + index[1] > room, "lists that fit");
		return;
	}
	CHECK(status == QB_OK);
	expect_case(number, found[0] + found[1] == here->distinct, "numbers of distinct keys");
	expect_case(number, same_order(exact[0], found[0], here, INT64_MIN, bound - 1),
				"orders of the first");
}

/*
 * Add the keys to the second device, and order the keys of both devices, divided at a random bound.
 */
static void
order_with_second(uint64_t number, qs_cuda *second, qs_cuda_exact *exact, uint64_t room,
				  const uint64_t *key, uint64_t keys, const counts *here)
{
	qs_cuda_exact *both[2] = { exact, NULL };
	uint64_t state = number;
	int64_t bound = here->list[draw_below(&state, here->distinct)].key;

	CHECK(qs_cuda_exacts.create(second, 3 * (here->distinct + keys), &both[1]) == QB_OK);
	CHECK(qs_cuda_exacts.add(both[1], key, keys) == QB_OK);
	order_both(number, both, room, bound > INT64_MIN ? bound : 0, here);
	qs_cuda_exacts.destroy(both[1]);
}

static void
run_case(qs_cuda *gpu, qs_cuda *second, uint64_t number)
{
	static uint64_t key[KEYS], sorted[KEYS];
	static counted list[KEYS];
	uint64_t state = number + 1000;
	uint64_t keys = number % 10 == 0 ? draw_below(&state, 3) : 1 + draw_below(&state, KEYS);
	uint64_t room = 1 + draw_below(&state, 2 * keys + 1);
	counts here = { .list = list };
	uint64_t first;
	uint64_t *device;
	qs_cuda_exact *exact;
	qb_status status;

	draw_keys(number, key, keys);
	memcpy(sorted, key, keys * sizeof(*key));
	here.distinct = count_here(sorted, keys, list);
	device = keys_to_device(gpu, key, keys);
	CHECK(qs_cuda_exacts.create(gpu, room, &exact) == QB_OK);
	first = draw_below(&state, 2) ? keys : draw_below(&state, keys + 1);
	status = add_batches(exact, &state, key, device, first);
	if (status == QB_NO_MEMORY)
		expect_case(number, room < first && here.distinct > room / 2, "keys that fit");
	else
	{
		CHECK(status == QB_OK);
		if (first == keys)
			order_alone(number, exact, &here);
		else
			order_with_second(number, second, exact, room, key + first, keys - first, &here);
	}
	qs_cuda_exacts.destroy(exact);
	cudaFree(device);
}

static double
now_ms(void)
{
	struct timespec now;

	timespec_get(&now, TIME_UTC);
	return (double) now.tv_sec * 1e3 + (double) now.tv_nsec / 1e6;
}

/* Print the times of allocating memory, of adding and listing the keys, and of ordering them. */
static void
time_one(qs_cuda *gpu, const uint64_t *device, uint64_t keys)
{
	uint64_t key[20], found;
	int64_t times[20], sample[QS_CUDA_SAMPLES];
	qs_cuda_exact *exact;
	qs_cuda_exact_slice all = { .first = 0 };
	double begin = now_ms(), made, listed;

	CHECK(qs_cuda_exacts.create(gpu, keys, &exact) == QB_OK);
	made = now_ms();
	CHECK(qs_cuda_exacts.add_device(exact, device, keys) == QB_OK);
	CHECK(qs_cuda_exacts.list(exact, &all.count, sample) == QB_OK);
	listed = now_ms();
	all.exact = exact;
	CHECK(join_and_order(&all, 1, &found) == QB_OK);
	CHECK(qs_cuda_exacts.get(exact, 0, found < 20 ? found : 20, key, times) == QB_OK);
	printf("%llu keys, %llu distinct: memory %.2f ms, list %.2f ms, order %.2f ms\n",
		   (unsigned long long) keys, (unsigned long long) found, made - begin, listed - made,
		   now_ms() - listed);
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
		double u = (double) (draw_below(&state, UINT64_C(1) << 53)) / 9007199254740992.0;

		key[i] = (uint64_t) (u * u * u * (double) distinct);
	}
	device = keys_to_device(gpu, key, keys);
	for (int round = 0; round < 5; round++)
		time_one(gpu, device, keys);
	cudaFree(device);
	free(key);
}

int
main(int argc, char **argv)
{
	case_run run = begin_cases(argc, argv, 100);
	qs_cuda *second = open_second(run.gpu);

	if (run.timed)
		time_all(run.gpu, case_argument(&run, 2, 100000000), case_argument(&run, 3, 20000000));
	for (uint64_t i = run.first; i < run.end; i++)
		run_case(run.gpu, second, i);
	qs_cuda_close(second);
	return end_cases(&run, "column_exact");
}
