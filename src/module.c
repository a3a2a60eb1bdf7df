/*
 * module.c
 *		The loadable module: what it sets up when it is loaded, and settings.
 *
 * src/module.c
 */
#include "postgres.h"
#include "fmgr.h"

#include "base/isa.h"
#include "gpu/gpu.h"
#include "pg/sets_state.h"
#include "pgbase/activity.h"
#include "pgbase/process.h"
#include "scan/scan.h"
#include "utils/guc.h"

#if PG_VERSION_NUM >= 180000
PG_MODULE_MAGIC_EXT(.name = "qsketch", .version = CppAsString2(QSKETCH_VERSION));
#else
PG_MODULE_MAGIC;
#endif

void _PG_init(void);

/* Values of qsketch.simd: a qb_isa, or the best one. */
#define SIMD_AUTO QB_ISAS

static const struct config_enum_entry simd_options[] = {
	{ "auto", SIMD_AUTO, false },       { "avx512", QB_ISA_AVX512, false },
	{ "avx2", QB_ISA_AVX2, false },     { "neon", QB_ISA_NEON, false },
	{ "scalar", QB_ISA_SCALAR, false }, { NULL, 0, false },
};

static int simd_setting = SIMD_AUTO;

static bool
check_simd(int *value, void **extra, GucSource source)
{
	if (*value == SIMD_AUTO || qb_isa_usable((qb_isa) *value))
		return true;
	GUC_check_errdetail("This processor does not have the instructions.");
	return false;
}

static void
assign_simd(int value, void *extra)
{
	qb_isa_use(value == SIMD_AUTO ? "auto" : qb_isa_name((qb_isa) value));
}

void
_PG_init(void)
{
	DefineCustomEnumVariable(
		"qsketch.simd", "Selects the instructions of the CPU engine; all give the same results.",
		NULL, &simd_setting, SIMD_AUTO, simd_options, PGC_USERSET, 0, check_simd, assign_simd,
		NULL);
	SecretInit();
	ColumnScanInit();
	WorkerPartialInit();
	PairsNodeInit();
	SetsKeptInit();
	GpuInit();
	NonceInit();
	ActivityInit();
	MarkGUCPrefixReserved("qsketch");
}
