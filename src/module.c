/*
 * module.c
 *		The loadable module: its start functions, the setting qsketch.simd, and its version.
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
#include "utils/builtins.h"
#include "utils/guc.h"

#if PG_VERSION_NUM >= 180000
PG_MODULE_MAGIC_EXT(.name = "qsketch", .version = CppAsString2(QSKETCH_VERSION));
#else
PG_MODULE_MAGIC;
#endif

void _PG_init(void);

/* Values of qsketch.simd: a qb_isa, or SIMD_AUTO for the best usable instruction set. */
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

/*
 * ---- whether the loaded library fits the SQL that declares its functions ----
 *
 * The library and the SQL files are installed together, but take effect at different times.  A
 * server that preloads the library uses the old library until it restarts.  A database uses the old
 * SQL until ALTER EXTENSION qsketch UPDATE.  A library serves the SQL of its own version and of
 * earlier versions.  It cannot know what later SQL expects of its functions.  So each SQL script
 * calls qsketch_version() before it declares or drops any other object.
 */

/* Versions of the SQL that this library serves.  The last version is the library's. */
static const char *const served[] = { "1.0.0" };

#define LIBRARY_VERSION served[lengthof(served) - 1]

/*
 * qsketch_version(sql): returns the library's version.  Raises an error if the library does not
 * serve SQL of the version "sql".
 */
PG_FUNCTION_INFO_V1(qsketch_version);
Datum
qsketch_version(PG_FUNCTION_ARGS)
{
	char *sql = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int i;

	for (i = 0; i < lengthof(served); i++)
		if (strcmp(served[i], sql) == 0)
			PG_RETURN_TEXT_P(cstring_to_text(LIBRARY_VERSION));
	ereport(
		ERROR,
		(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		 errmsg("library qsketch %s does not serve SQL of version \"%s\"", LIBRARY_VERSION, sql),
		 errhint("Install the library and the SQL files of one version. If that is done, an "
				 "older library is still loaded: restart the server if it preloads "
				 "qsketch, or start a new session.")));
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
