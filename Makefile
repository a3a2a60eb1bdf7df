# qsketch: frequency sketches, Bloom filters and set intersections for PostgreSQL, on the
# CPU and on NVIDIA GPUs.
#
#   make                 build the extension (WITH_CUDA=yes|no; default: yes if nvcc is found)
#   make install         install it into the server that PG_CONFIG names
#   make demo            build, start a throw-away server, show the extension on real data
#   make check           what a change most often breaks, in a few minutes: build, format, layers, links,
#                        unit tests that are no fuzzers, SQL tests
#   make test            everything that can be tested without a GPU; ends with the counts
#   make unit            tests of the sketches alone, without PostgreSQL, under sanitizers
#                        (UNIT=build/unit/test_merge: one of them)
#   make fuzz            fuzzers of untrusted bytes, FUZZ_SECONDS (30) each
#   make regress         SQL tests on a throw-away server     (REGRESS="name ..." picks some)
#   make isolation       concurrency tests, the same way      (ISOLATION="name ...")
#   make regress-gpu     SQL tests through the GPU worker (QSKETCH_GPU=auto: with a real GPU)
#   make soak            many clients on the GPU worker, SOAK_SECONDS (600)
#   make tap             tests that need servers of their own (PROVE_TESTS="file ...")
#   make installcheck    SQL and concurrency tests on your running server, after make install
#   make format          clang-format in place; format-check only checks
#   make check-layers    checks that each folder includes only permitted headers
#   make check-links     checks the links of the pages, and that src/FILES.md is up to date
#   make files           writes src/FILES.md: what each source file is
#   make gpu-test        GPU against CPU, byte by byte, and faults; needs a GPU to run
#   make gpu-sanitize    the same in small under compute-sanitizer
#   make gpu-build       builds the GPU's tests and benchmarks without PostgreSQL, also without a GPU
#   make bench           speed inside PostgreSQL; writes docs/engineering/performance.md
#   make bench-gpu       the GPU against the CPU inside PostgreSQL
#   make figures         all tables and figures that take no GPU, anew; as root
#                        (bench/README.md has the other benchmarks)
#   make matrix          the tests on several versions of PostgreSQL (VERSIONS="15 16 ...")
#   make check-release   checks that all files name the same version
#   make bundle          server, extension, tests and a script that runs them on a GPU host
#   make deb             Debian packages
#   make rpm             RPM packages of the last commit
#   make dist            source archive; check-dist builds and tests it
#   make clean
#
# Tests are in test/test.mk and test/gpu/gpu.mk, benchmarks in bench/bench.mk,
# the CUDA engine in cuda/cuda.mk.  WERROR=1 makes warnings errors, COVERAGE=1 instruments for gcov, UBSAN=1
# ends a process at undefined behaviour, and PG_CONFIG=... picks the server to build for.

EXTENSION  = qsketch
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(EXTENSION).control)
MODULE_big = qsketch
# Versions that can be upgraded. sql/old keeps the SQL of each version
# unchanged.
OLD_VERSIONS := $(patsubst sql/old/%.sql,%,$(wildcard sql/old/*.sql))
PG_CONFIG ?= pg_config

# Folders without PostgreSQL; of the families those whose folders exist.
CORE     := base sketch filter sets engine
CORE_SRC := $(wildcard $(CORE:%=src/%/*.c))
PG_SRC   := $(wildcard src/*.c src/pgbase/*.c src/gpu/*.c src/gpu/worker/*.c src/pg/*.c src/scan/*.c src/scan/*/*.c)
CUDA_SRC := $(wildcard cuda/*.cu)

include cuda/cuda.mk

# ---- what PGXS builds ----

OBJS         = $(patsubst %.c,%.o,$(CORE_SRC) $(PG_SRC))
PG_CPPFLAGS  = -I$(srcdir)/src -I$(srcdir)/cuda $(CUDA_DEFINE) -DQSKETCH_VERSION=$(EXTVERSION)
# -ffp-contract=off keeps a product and a sum two operations.  On processors such as ARM, GCC would make one
# operation of them, which rounds once.  Estimates would then differ in their last digits from those of other
# processors, and a*b + c*d would differ from c*d + a*b.
PG_CFLAGS    = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	-ffp-contract=off -MMD -MP
SHLIB_LINK   = $(CUDA_LINK)
DATA_built   = sql/$(EXTENSION)--$(EXTVERSION).sql \
	$(foreach v,$(OLD_VERSIONS),sql/$(EXTENSION)--$v.sql sql/$(EXTENSION)--$v--$(EXTVERSION).sql)
EXTRA_CLEAN  = build $(OBJS:.o=.d) $(wildcard cuda/*.[oad] src/*.gcno src/*.gcda src/*/*.gcno src/*/*.gcda src/*/*/*.gcno src/*/*/*.gcda)

ifdef WERROR
PG_CFLAGS   += -Werror
endif
ifdef COVERAGE
PG_CFLAGS   += -O0 --coverage
SHLIB_LINK  += --coverage
endif
ifdef UBSAN
PG_CFLAGS   += -fsanitize=undefined -fsanitize-undefined-trap-on-error
endif

# pg_regress needs the folder names sql and expected, and searches the output
# folder first.  In "." it would find the install scripts in sql.  So its
# folders are links to the folders of the tests (installcheck) or copies
# (test/run.sh).
REGRESS       := $(sort $(patsubst sql_tests/%.sql,%,$(wildcard sql_tests/*.sql)))
ISOLATION     := $(sort $(patsubst sql_tests/specs/%.spec,%,$(wildcard sql_tests/specs/*.spec)))
PROVE_TESTS   := $(sort $(wildcard sql_tests/t/*.pl))
REGRESS_OPTS   = --inputdir=build/links --outputdir=build/links --load-extension=$(EXTENSION)
ISOLATION_OPTS = $(REGRESS_OPTS)
REGRESS_PREP   = link-tests

# No LLVM bitcode: a JIT that inlines bitcode does not reach the hot code, which
# runs inside calls through fmgr.  With bitcode all code would be compiled
# twice.
override with_llvm = no

all: $(DATA_built)
.DELETE_ON_ERROR:

# A PostgreSQL without the headers of its server cannot build extensions, though
# it may have PGXS, which Debian ships with the client.
HEADER := $(wildcard $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h)
PGXS   := $(if $(HEADER),$(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null)))
ifeq ($(MAKECMDGOALS),check)
# PGXS has a target of this name, which only prints that there is no check.
.PHONY: check
check:
	@test/run.sh check
else ifneq ($(PGXS),)
include $(PGXS)
else
all install installcheck:
	@echo 'no PostgreSQL here that can build extensions: run test/setup.sh build, or set PG_CONFIG' >&2; exit 1
endif

# -O3 vectorizes the loops that add counters.  SQL calls no function of these
# folders by name.
ifndef COVERAGE
$(CORE_SRC:.c=.o): override CFLAGS += -O3 -fvisibility=hidden
endif

# Changed flags rebuild all objects.  A changed header rebuilds the objects that
# include it.
BUILD_FLAGS = $(CC) $(CFLAGS) $(CPPFLAGS) $(NVCC_FLAGS) $(SHLIB_LINK)
$(OBJS) $(CUDA_OBJS): build/flags
build/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(BUILD_FLAGS)' | cmp -s - $@ || { echo '$(CUDA_NOTE)'; echo '$(BUILD_FLAGS)' >$@; }
-include $(OBJS:.o=.d) $(CUDA_OBJS:.o=.d)

# One file for each type or family, the oldest first.  These files use flat.sql.
SQL_SRC := $(wildcard sql/qsketch.sql sql/qfilter.sql sql/qsets.sql sql/qtop.sql)
INSTALL_SQL := sql/$(EXTENSION)--$(EXTVERSION).sql
$(INSTALL_SQL): $(SQL_SRC) sql/flat.sql sql/expand.awk $(EXTENSION).control
	awk -v VERSION=$(EXTVERSION) -f sql/expand.awk $(SQL_SRC) >$@

# Upgrade scripts are made from the differences between two install scripts, so
# no change can be forgotten.
$(OLD_VERSIONS:%=sql/$(EXTENSION)--%.sql): sql/$(EXTENSION)--%.sql: sql/old/%.sql sql/expand.awk
	awk -v VERSION=$* -f sql/expand.awk $< >$@
$(OLD_VERSIONS:%=sql/$(EXTENSION)--%--$(EXTVERSION).sql): \
		sql/$(EXTENSION)--%--$(EXTVERSION).sql: sql/$(EXTENSION)--%.sql $(INSTALL_SQL) sql/upgrade.awk
	awk -f sql/upgrade.awk $< $(INSTALL_SQL) >$@

ifeq ($(WITH_CUDA),yes)
$(shlib): $(CUDA_LIB)
$(CUDA_LIB): $(CUDA_OBJS)
	rm -f $@ && $(AR) crs $@ $^
$(CUDA_OBJS): %.o: %.cu
	$(NVCC) $(NVCC_FLAGS) -c -o $@ $<
endif

.PHONY: FORCE
include test/test.mk test/gpu/gpu.mk bench/bench.mk

# ---- source checks ----
# Other versions of clang-format lay code out differently, so the version is fixed.

.PHONY: format format-check check-layers check-links check-release files
CLANG_FORMAT ?= clang-format-14
FORMATTED     = $(wildcard src/*.c src/*/*.[ch] src/*/*/*.[ch] test/*/*.[ch] test/modules/*/*.[ch] bench/*.[ch] bench/*.cu cuda/*.[ch] cuda/*.cu cuda/*.cuh)
format:
	$(if $(FORMATTED),$(CLANG_FORMAT) -i $(FORMATTED))
format-check:
	@status=0; for f in $(FORMATTED); do $(CLANG_FORMAT) $$f | cmp -s - $$f || \
		{ echo "not formatted: $$f"; status=1; }; done; exit $$status
check-layers:
	@test/check-layers.sh
check-links: build/FILES.md
	@test/check-links.pl
	@diff src/FILES.md $< || { echo "src/FILES.md is not what the files' opening comments say: run make files"; exit 1; }
files: build/FILES.md
	@cp $< src/FILES.md
build/FILES.md: FORCE
	@mkdir -p $(@D)
	@awk -f test/files.awk $(wildcard src/*.c) $(sort $(wildcard src/*/*.[ch] src/*/*/*.[ch])) \
		$(sort $(wildcard cuda/*.h cuda/*.cu cuda/*.cuh)) src/FILES.md >$@
check-release:
	@test/check-release.pl

# ---- packing ----

.PHONY: bundle deb rpm dist check-dist
bundle: all test-modules
	@test/bundle.sh
DIST := build/$(EXTENSION)-$(EXTVERSION).zip
deb:
	@test/package.sh build
rpm: dist
	@test/rpm.sh $(DIST)
dist: check-release
	@mkdir -p build
	git archive --format=zip --prefix=$(EXTENSION)-$(EXTVERSION)/ -o $(DIST) HEAD
check-dist: dist
	@test/check-dist.sh $(DIST)
