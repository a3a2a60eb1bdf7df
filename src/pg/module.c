/*
 * module.c
 *		The loadable module: settings.
 *
 * src/pg/module.c
 */
#include "pg/glue.h"

#include "engine/sketch_kernels.h"
#include "gpu/gpu.h"
#include "scan/scan.h"
#include "utils/guc.h"

PG_MODULE_MAGIC;

void _PG_init(void);

/* Values of qsketch.simd index this. */
static const char *const simd_names[] = { "auto", "avx512", "avx2", "scalar" };

static const struct config_enum_entry simd_options[] = {
	{ "auto", 0, false },   { "avx512", 1, false }, { "avx2", 2, false },
	{ "scalar", 3, false }, { NULL, 0, false },
};

static int simd_setting = 0;

/* Trying a set is the way to know whether the processor has it. */
static bool
check_simd(int *value, void **extra, GucSource source)
{
	const char *before = qs_kernels_now()->name;

	if (!qs_kernels_use(simd_names[*value]))
	{
		GUC_check_errdetail("This processor does not have the instructions.");
		return false;
	}
	qs_kernels_use(before);
	return true;
}

static void
assign_simd(int value, void *extra)
{
	qs_kernels_use(simd_names[value]);
}

void
_PG_init(void)
{
	DefineCustomEnumVariable(
		"qsketch.simd", "Instructions that the CPU engine uses; all give the same sketches.", NULL,
		&simd_setting, 0, simd_options, PGC_USERSET, 0, check_simd, assign_simd, NULL);
	ColumnScanInit();
	GpuInit();
	MarkGUCPrefixReserved("qsketch");
}
