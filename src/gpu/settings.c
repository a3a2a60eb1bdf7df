/*
 * settings.c
 *		Settings of the GPU worker and of the backends that use it.
 *
 * src/gpu/settings.c
 */
#include "gpu/gpu.h"

#include "gpu/shared.h"

#include "miscadmin.h"
#include "utils/guc.h"

int device_setting = DEVICE_AUTO;
int gpu_worker_kind = WORKER_AUTO;
int gpu_buffer_size = 64 * 1024;
int gpu_memory_limit = 0;
int gpu_cache_size = 4096;
char *gpu_devices = NULL;
int gpu_min_size = -1;
int gpu_min_keys = 100000;
int gpu_min_elements = 20000;
int gpu_split_time = 20;
int gpu_timeout = 60;
bool gpu_columns_enabled = true;
int gpu_fault = FAULT_NONE;

static const struct config_enum_entry device_options[] = {
	{ "auto", DEVICE_AUTO, false },
	{ "cpu", DEVICE_CPU, false },
	{ "gpu", DEVICE_GPU, false },
	{ NULL, 0, false },
};

static const struct config_enum_entry worker_kinds[] = {
	{ "auto", WORKER_AUTO, false },
	{ "off", WORKER_OFF, false },
	{ NULL, 0, false },
};

static const struct config_enum_entry faults[] = {
	{ "none", FAULT_NONE, false },
	{ "error", FAULT_ERROR, false },
	{ "memory", FAULT_MEMORY, false },
	{ "spill", FAULT_SPILL, false },
	{ "slow", FAULT_SLOW, false },
	{ "hang", FAULT_HANG, false },
	{ "spread", FAULT_SPREAD, false },
	{ "lost", FAULT_LOST, false },
	{ NULL, 0, false },
};

/*
 * Read a list of at most "room" numbers, such as "0,2".  Returns the length of the list; -1: the
 * list is invalid.
 */
static int
read_numbers(const char *list, int *number, int room)
{
	const char *at = list ? list : "";
	int count = 0;

	for (at += strspn(at, " "); *at;)
	{
		char *end;
		long value = strtol(at, &end, 10);

		if (end == at || value < 0 || value > 255 || count == room)
			return -1;
		number[count++] = (int) value;
		at = end + strspn(end, " ");
		if (*at == ',')
			at += 1 + strspn(at + 1, " ");
		else if (*at)
			return -1;
	}
	return count;
}

static bool
check_devices(char **value, void **extra, GucSource source)
{
	int number[GPU_DEVICES_MAX];

	if (read_numbers(*value, number, GPU_DEVICES_MAX) >= 0)
		return true;
	GUC_check_errdetail("Expected numbers of devices, separated by commas.");
	return false;
}

int
GpuDeviceNumbers(int *number, int room)
{
	return Max(0, read_numbers(gpu_devices, number, room));
}

/* Define the settings of the worker, which exist only if the server preloads the module. */
static void
define_worker_settings(void)
{
	DefineCustomEnumVariable("qsketch.gpu_worker", "Starts the process that owns the GPUs.",
							 "off starts none.", &gpu_worker_kind, WORKER_AUTO, worker_kinds,
							 PGC_POSTMASTER, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"qsketch.gpu_buffer_size",
		"Sets the shared memory through which data go to the GPU worker and back.", NULL,
		&gpu_buffer_size, 64 * 1024, 1024, 8 * 1024 * 1024, PGC_POSTMASTER, GUC_UNIT_KB, NULL, NULL,
		NULL);
	DefineCustomStringVariable("qsketch.gpu_devices", "Lists the numbers of the GPUs to use.",
							   "Empty means all.", &gpu_devices, "", PGC_POSTMASTER, 0,
							   check_devices, NULL, NULL);
	DefineCustomIntVariable(
		"qsketch.gpu_memory_limit",
		"Sets the maximum memory of sketches, filters, sets and columns on each GPU.",
		"0 means no limit.", &gpu_memory_limit, 0, 0, INT_MAX / 2, PGC_SIGHUP, GUC_UNIT_MB, NULL,
		NULL, NULL);
	DefineCustomIntVariable("qsketch.gpu_cache_size",
							"Sets the maximum device memory of cached columns and cached values.",
							NULL, &gpu_cache_size, 4096, 0, INT_MAX / 2, PGC_SIGHUP, GUC_UNIT_MB,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("qsketch.gpu_fault", "Developer option: lets the GPU worker fail.",
							 NULL, &gpu_fault, FAULT_NONE, faults, PGC_SIGHUP,
							 GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
}

void
GpuDefineSettings(void)
{
	DefineCustomEnumVariable("qsketch.device", "Selects where keys are counted and looked up.",
							 "The results are the same everywhere.", &device_setting, DEVICE_AUTO,
							 device_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"qsketch.gpu_min_size", "Sets the size of a sketch from which auto takes it to a GPU.",
		"Filters go there from an eighth of this size on.  -1 lets the number of processes "
		"decide.",
		&gpu_min_size, -1, -1, INT_MAX / 2, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable("qsketch.gpu_min_keys",
							"Sets the number of keys from which auto looks them up on a GPU.", NULL,
							&gpu_min_keys, 100000, 1, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"qsketch.gpu_min_elements",
		"Sets the number of elements from which auto finds pairs of sets on a GPU.", NULL,
		&gpu_min_elements, 20000, 0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"qsketch.gpu_split_time",
		"Developer option: sets the expected time of a search from which all GPUs share it.", NULL,
		&gpu_split_time, 20, 0, INT_MAX, PGC_USERSET,
		GUC_UNIT_MS | GUC_NOT_IN_SAMPLE | GUC_NO_SHOW_ALL, NULL, NULL, NULL);
	DefineCustomBoolVariable(
		"qsketch.enable_gpu_columns", "Enables the use of cached columns, which a GPU keeps.", NULL,
		&gpu_columns_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("qsketch.gpu_timeout",
							"Sets the maximum wait for a GPU worker that makes no progress.", NULL,
							&gpu_timeout, 60, 1, 3600, PGC_USERSET, GUC_UNIT_S, NULL, NULL, NULL);
	if (process_shared_preload_libraries_in_progress)
		define_worker_settings();
}
