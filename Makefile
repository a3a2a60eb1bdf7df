# qsketch: frequency sketches, Bloom filters and set intersections for PostgreSQL, on the
# CPU and on NVIDIA GPUs.
#
#   make                 build the extension (WITH_CUDA=yes|no; default: yes if nvcc is found)
#   make install         install it into the server that PG_CONFIG names
#   make demo            build, start a throw-away server, show the extension on real data
#   make test            everything that can be tested without a GPU; ends with the counts
#   make unit            tests of the sketches alone, without PostgreSQL, under sanitizers
#   make fuzz            fuzzers of untrusted bytes, FUZZ_SECONDS (30) each
#   make regress         SQL tests on a throw-away server     (REGRESS="name ..." picks some)
#   make isolation       concurrency tests, the same way      (ISOLATION="name ...")
#   make regress-gpu     SQL tests through the GPU worker (QSKETCH_GPU=auto: with a real GPU)
#   make soak            many clients on the GPU worker, SOAK_SECONDS (600)
#   make tap             tests that need servers of their own (PROVE_TESTS="file ...")
#   make installcheck    SQL and concurrency tests on your running server, after make install
#   make format          clang-format in place; format-check only looks
#   make check-layers    which part may include which
#   make gpu-test        GPU against CPU, byte by byte, and faults; needs a GPU to run
#   make gpu-sanitize    the same in small under compute-sanitizer
#   make gpu-bench       speed on the GPU; writes docs/gpu-performance.md
#   make gpu-build       builds these three and the benchmarks of sets and filters, also
#                        where there is no GPU, for a host that has one: copy build/gpu
#                        there and run build/gpu/run.sh
#   make bench           speed inside PostgreSQL, against everything; writes docs/performance.md
#   make bench-sql       the same in short, as a Markdown table
#   make bench-top       qtop_exact against GROUP BY; writes its table into docs/recipes.md
#   make structures      all structures on the same rows; writes its tables into docs/choosing.md
#   make accuracy        measured errors of all structures; analysis: against theory
#   make bench-merge     merging multilevel sketches against sub_warp, without PostgreSQL
#   make sets-bench      speed of the sets family; writes docs/sets-performance.md
#   make sets-model      how often the cost model chooses the fastest method; fails below 90 %
#   make sets-bench-sql  the same inside PostgreSQL, against other ways (DUCKDB=folder)
#   make fdw-bench       sketches over postgres_fdw; writes its table into docs/several-machines.md
#   make bench-gpu       the GPU against the CPU inside PostgreSQL
#   make bench-gpu-sets  the same for all pairs of sets
#   make figures         bench, structures, accuracy, analysis, filter-accuracy, filter-bench,
#                        sets-bench and fdw-bench in turn: all tables and figures that take no
#                        GPU, anew
#   make bundle          server, extension, tests and a script that runs them on a GPU host
#   make dist            source archive
#   make clean
#
# WERROR=1 makes warnings errors, COVERAGE=1 instruments for gcov, and
# PG_CONFIG=... picks the server to build for.

EXTENSION  = qsketch
EXTVERSION := $(shell sed -n "s/^default_version *= *'\(.*\)'/\1/p" $(EXTENSION).control)
MODULE_big = qsketch
# Versions that can be upgraded, whose SQL is kept as it was.
OLD_VERSIONS := $(patsubst sql/old/%.sql,%,$(wildcard sql/old/*.sql))
PG_CONFIG ?= pg_config

# What knows no PostgreSQL; of the families those that are there.
CORE     := base sketch filter sets engine
CORE_SRC := $(wildcard $(CORE:%=src/%/*.c))
PG_SRC   := $(wildcard src/pg/*.c src/scan/*.c src/gpu/*.c)
CUDA_SRC := $(wildcard cuda/*.cu)

# ---- CUDA ----
# Only cuda/ is built by nvcc.  Its objects go in through an archive: the
# runtime is linked statically, so that the module loads where no driver is.
# A host compiler alone is enough for WITH_CUDA=no.

CUDA_HOME ?= /usr/local/cuda
NVCC      := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
WITH_CUDA ?= $(if $(and $(NVCC),$(CUDA_SRC)),yes,no)

ifeq ($(WITH_CUDA),yes)
CUDA_ARCHS ?= $(filter 80 90 100 120,$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code)))
CUDA_OBJS  := $(CUDA_SRC:.cu=.o)
CUDA_LIB   := cuda/libqsketch_cuda.a
CUDA_ROOT  := $(abspath $(dir $(realpath $(NVCC)))..)
CUDA_PTX   := $(lastword $(CUDA_ARCHS))
NVCC_FLAGS  = -O3 -lineinfo -std=c++17 -Isrc -Icuda -MMD -MP \
	-Xcompiler -fPIC,-fvisibility=hidden,-Wall,-Wextra \
	$(foreach a,$(CUDA_ARCHS),-gencode arch=compute_$a,code=sm_$a) \
	-gencode arch=compute_$(CUDA_PTX),code=compute_$(CUDA_PTX)
CUDA_LINK   = $(CUDA_LIB) -L$(CUDA_ROOT)/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++ \
	-Wl,--exclude-libs,ALL
CUDA_NOTE   = building with CUDA for $(CUDA_ARCHS:%=sm_%)
else
NO_CUDA_OBJ := $(patsubst %.c,%.o,$(wildcard cuda/*no_cuda.c))
CUDA_NOTE   = building without CUDA: $(if $(NVCC),$(if $(CUDA_SRC),WITH_CUDA=no,no kernels in cuda/),nvcc not found)
endif

# ---- what PGXS builds ----

OBJS         = $(patsubst %.c,%.o,$(CORE_SRC) $(PG_SRC)) $(NO_CUDA_OBJ)
PG_CPPFLAGS  = -I$(srcdir)/src -I$(srcdir)/cuda
PG_CFLAGS    = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare -Wno-missing-field-initializers \
	-MMD -MP
SHLIB_LINK   = $(CUDA_LINK)
DATA_built   = sql/$(EXTENSION)--$(EXTVERSION).sql \
	$(foreach v,$(OLD_VERSIONS),sql/$(EXTENSION)--$v.sql sql/$(EXTENSION)--$v--$(EXTVERSION).sql)
EXTRA_CLEAN  = build $(OBJS:.o=.d) $(wildcard cuda/*.[oad] src/*/*.gcno src/*/*.gcda cuda/*.gcno)

ifdef WERROR
PG_CFLAGS   += -Werror
endif
ifdef COVERAGE
PG_CFLAGS   += -O0 --coverage
SHLIB_LINK  += --coverage
endif

# pg_regress insists on the folder names sql and expected, and looks in the
# output folder first: "." would find our install scripts.  So it is pointed
# at links to our own folders (installcheck) or at copies (src/test/run.sh).
REGRESS       := $(sort $(patsubst sql_tests/%.sql,%,$(wildcard sql_tests/*.sql)))
ISOLATION     := $(sort $(patsubst sql_tests/specs/%.spec,%,$(wildcard sql_tests/specs/*.spec)))
PROVE_TESTS   := $(sort $(wildcard sql_tests/t/*.pl))
REGRESS_OPTS   = --inputdir=build/links --outputdir=build/links --load-extension=$(EXTENSION)
ISOLATION_OPTS = $(REGRESS_OPTS)
REGRESS_PREP   = link-tests

# No LLVM bitcode: the hot code runs inside calls through fmgr, which a JIT
# that inlines bitcode does not reach, and it would be compiled twice.
override with_llvm = no

all: $(DATA_built)
.DELETE_ON_ERROR:

# A PostgreSQL without the headers of its server cannot build extensions, though
# it may have PGXS: Debian ships that with the client.
HEADER := $(wildcard $(shell $(PG_CONFIG) --includedir-server 2>/dev/null)/postgres.h)
PGXS   := $(if $(HEADER),$(wildcard $(shell $(PG_CONFIG) --pgxs 2>/dev/null)))
ifneq ($(PGXS),)
include $(PGXS)
else
all install installcheck:
	@echo 'no PostgreSQL here that can build extensions: run src/test/setup.sh build, or set PG_CONFIG' >&2; exit 1
endif

# Counters are added in loops that the compiler can vectorise.  Nothing in
# these folders is called by name from SQL.
ifndef COVERAGE
$(CORE_SRC:.c=.o): override CFLAGS += -O3 -fvisibility=hidden
endif

# Changed flags rebuild everything, changed headers what includes them.
BUILD_FLAGS = $(CC) $(CFLAGS) $(CPPFLAGS) $(NVCC_FLAGS) $(SHLIB_LINK)
$(OBJS) $(CUDA_OBJS): build/flags
build/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(BUILD_FLAGS)' | cmp -s - $@ || { echo '$(CUDA_NOTE)'; echo '$(BUILD_FLAGS)' >$@; }
-include $(OBJS:.o=.d) $(CUDA_OBJS:.o=.d)

# One file for each family that there is, the oldest first; they use flat.sql.
SQL_SRC := $(wildcard sql/qsketch.sql sql/pbf.sql sql/qsets.sql sql/qtop.sql)
INSTALL_SQL := sql/$(EXTENSION)--$(EXTVERSION).sql
$(INSTALL_SQL): $(SQL_SRC) sql/flat.sql sql/expand.awk $(EXTENSION).control
	awk -v VERSION=$(EXTVERSION) -f sql/expand.awk $(SQL_SRC) >$@

# Upgrades are what two install scripts differ in, so they cannot be forgotten.
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

# ---- tests ----

.PHONY: FORCE demo test unit fuzz regress regress-gpu isolation tap soak matrix link-tests test-modules
test:
	@src/test/run.sh
regress: all
	@src/test/run.sh regress $(REGRESS)
regress-gpu: all
	@src/test/run.sh gpu $(REGRESS)
soak: all
	@QSKETCH_SOAK_SECONDS=$(or $(SOAK_SECONDS),600) src/test/run.sh tap 020_gpu_soak.pl
isolation: all
	@src/test/run.sh isolation $(ISOLATION)
tap: all test-modules
	@src/test/run.sh tap $(PROVE_TESTS)

# What some TAP tests load into their servers.
test-modules: $(patsubst src/test/modules/%.c,build/test/%.so,$(wildcard src/test/modules/*.c))
build/test/%.so: src/test/modules/%.c
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_SL) -shared -o $@ $<

matrix:
	@src/test/matrix.sh $(VERSIONS)

link-tests:
	@mkdir -p build/links
	@ln -sfn $(abspath sql_tests)       build/links/sql
	@ln -sfn $(abspath sql_tests/specs) build/links/specs
	@ln -sfn $(abspath expected)        build/links/expected

# The sketches without PostgreSQL: compiled once for each kind of sanitizer
# build, then linked with each test.  Every test runs, even after a failure.
SAN_FLAGS  = -std=c11 -g -O1 -Wall -Wextra -Werror -Isrc -MMD -MP -fno-sanitize-recover=all
UNIT_CC    = gcc $(SAN_FLAGS) -fsanitize=address,undefined
FUZZ_CC    = $(firstword $(shell command -v clang clang-14 2>/dev/null) clang) $(SAN_FLAGS)
UNIT      := $(patsubst src/test/unit/%.c,build/unit/%,$(wildcard src/test/unit/*.c))
FUZZ      := $(patsubst src/test/fuzz/%.c,build/fuzz/%,$(wildcard src/test/fuzz/*.c))
UNIT_OBJS := $(CORE_SRC:src/%.c=build/unit/%.o)
FUZZ_OBJS := $(CORE_SRC:src/%.c=build/fuzz/%.o)
FUZZ_SECONDS ?= 30

# Tickets are tested with code of the server, compiled against PostgreSQL's headers.
TICKETS      := gpu/entries.o gpu/sketch_ticket.o
SERVER_FLAGS  = -std=gnu11 $(CPPFLAGS) $(addprefix -Wno-,unused-parameter sign-compare missing-field-initializers ignored-attributes)
ifeq ($(PGXS),)
UNIT := $(filter-out %_tickets,$(UNIT))
FUZZ := $(filter-out %_tickets,$(FUZZ))
endif
build/unit/test_tickets: $(TICKETS:%=build/unit/%)
build/fuzz/fuzz_tickets: $(TICKETS:%=build/fuzz/%)
build/unit/test_tickets build/fuzz/fuzz_tickets: private SAN_FLAGS += $(SERVER_FLAGS)
build/unit/gpu/%.o build/fuzz/gpu/%.o: SAN_FLAGS += $(SERVER_FLAGS)

.SECONDARY: $(UNIT_OBJS) $(FUZZ_OBJS) $(TICKETS:%=build/unit/%) $(TICKETS:%=build/fuzz/%)
-include $(wildcard build/unit/*.d build/unit/*/*.d build/fuzz/*.d build/fuzz/*/*.d)

unit: $(UNIT)
	@status=0; for t in $(UNIT); do echo "== $$t"; $$t || status=1; done; exit $$status
$(UNIT): build/unit/%: src/test/unit/%.c $(UNIT_OBJS)
	@mkdir -p $(@D)
	$(UNIT_CC) -o $@ $(filter %.c %.o,$^) -lcmocka -lm
build/unit/%.o: src/%.c
	@mkdir -p $(@D)
	$(UNIT_CC) -c -o $@ $<

# New inputs are kept in build/fuzz/corpus; golden sketches are the seeds.
fuzz: $(FUZZ)
	@set -e; for f in $(FUZZ); do echo "== $$f"; mkdir -p build/fuzz/corpus/$$(basename $$f); \
		$$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -artifact_prefix=build/fuzz/ \
		build/fuzz/corpus/$$(basename $$f) $(wildcard src/test/golden); done
$(FUZZ): build/fuzz/%: src/test/fuzz/%.c $(FUZZ_OBJS)
	@mkdir -p $(@D)
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.c %.o,$^) -lm
build/fuzz/%.o: src/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<

# ---- GPU: tests and benchmark of the CUDA engine, without PostgreSQL ----
# Built apart from the extension, so that GPU_ARCHS=90 makes a quick build.

.PHONY: gpu-build gpu-test gpu-sanitize gpu-bench
GPU_ARCHS   ?= $(CUDA_ARCHS)
GPU_TESTS   := $(patsubst src/test/gpu/%.c,build/gpu/%,$(filter-out %/support.c,$(wildcard src/test/gpu/*.c)))
GPU_FAULTY   = build/gpu/faults build/gpu/sets_faults build/gpu/filter_faults
GPU_NVCC     = $(NVCC) $(filter-out -gencode arch=%,$(NVCC_FLAGS)) \
	$(foreach a,$(GPU_ARCHS),-gencode arch=compute_$a,code=sm_$a)
GPU_CC       = gcc -std=c11 -g -O3 -Wall -Wextra -Isrc -Isrc/bench -Icuda -I$(CUDA_ROOT)/include -MMD -MP
GPU_HOST    := $(CORE_SRC:src/%.c=build/gpu/%.o) build/gpu/test/gpu/support.o
GPU_LIB     := $(CUDA_SRC:cuda/%.cu=build/gpu/cuda/%.o)
GPU_FAULTS  := $(CUDA_SRC:cuda/%.cu=build/gpu/faulty/%.o)
GPU_LINK     = -L$(CUDA_ROOT)/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++ -lm
.SECONDARY: $(GPU_HOST) $(GPU_LIB) $(GPU_FAULTS)
-include $(wildcard build/gpu/*.d build/gpu/*/*.d build/gpu/*/*/*.d)

gpu-build: $(GPU_TESTS) build/gpu/gpu_bench build/gpu/gpu_sets build/gpu/gpu_filter build/gpu/run.sh \
	$(if $(filter 90,$(GPU_ARCHS)),build/gpu/gpu_wgmma)
gpu-test gpu-sanitize: gpu-%: gpu-build
	@build/gpu/run.sh $*
gpu-bench: gpu-build
	@build/gpu/run.sh bench
	@build/gpu/run.sh profile >build/gpu/counters.csv || :
	@command -v gnuplot >/dev/null || src/test/setup.sh bench
	@src/bench/gpu_report.sh build/gpu/gpu-bench.tsv build/gpu/counters.csv
$(filter-out $(GPU_FAULTY),$(GPU_TESTS)): build/gpu/%: build/gpu/test/gpu/%.o $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
$(GPU_FAULTY): build/gpu/%: build/gpu/test/gpu/%.o $(GPU_HOST) $(GPU_FAULTS)
	gcc -o $@ $^ $(GPU_LINK)
build/gpu/gpu_bench: $(addprefix build/gpu/bench/,gpu_bench.o gpu_sections.o gpu_kernels.o) $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
build/gpu/gpu_sets: $(addprefix build/gpu/bench/,gpu_sets.o gpu_sets_parts.o sets_data.o) $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
build/gpu/gpu_filter: $(addprefix build/gpu/bench/,gpu_filter.o gpu_filter_kernels.o gpu_filter_host.o) $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
# Of an instruction that no other architecture has.
build/gpu/gpu_wgmma: src/bench/gpu_wgmma.cu
	@mkdir -p $(@D)
	$(NVCC) $(filter-out -gencode arch=%,$(NVCC_FLAGS)) -gencode arch=compute_90a,code=sm_90a -o $@ $<
build/gpu/run.sh: src/test/gpu/run.sh
	@mkdir -p $(@D)
	cp $< $@
build/gpu/%.o: src/%.c
	@mkdir -p $(@D)
	$(GPU_CC) -c -o $@ $<
build/gpu/bench/%.o: src/bench/%.cu
	@mkdir -p $(@D)
	$(GPU_NVCC) -c -o $@ $<
build/gpu/cuda/%.o: cuda/%.cu
	@mkdir -p $(@D)
	$(GPU_NVCC) -c -o $@ $<
build/gpu/faulty/%.o: cuda/%.cu
	@mkdir -p $(@D)
	$(GPU_NVCC) -DQS_CUDA_FAULTS -c -o $@ $<

# ---- source checks ----
# Other versions of clang-format lay code out differently, so the version is fixed.

.PHONY: format format-check check-layers check-release
CLANG_FORMAT ?= clang-format-14
FORMATTED     = $(wildcard src/*/*.[ch] src/test/*/*.[ch] src/bench/*.cu cuda/*.[ch] cuda/*.cu cuda/*.cuh)
format:
	$(if $(FORMATTED),$(CLANG_FORMAT) -i $(FORMATTED))
format-check:
	@status=0; for f in $(FORMATTED); do $(CLANG_FORMAT) $$f | cmp -s - $$f || \
		{ echo "not formatted: $$f"; status=1; }; done; exit $$status
check-layers:
	@src/test/check-layers.sh
check-release:
	@src/test/check-release.pl

# ---- demonstration, benchmarks, packing ----

.PHONY: bench bench-sql bench-top bench-gpu bench-gpu-sets bench-merge fdw-bench structures accuracy analysis filter-accuracy filter-bench sets-bench sets-bench-sql sets-model figures bundle deb dist check-dist
demo:
	@src/bench/demo.sh
bench bench-sql bench-top bench-gpu bench-gpu-sets fdw-bench structures:
	@src/bench/$@.sh
# Both write their tables into docs/; accuracy draws its figures as well.
accuracy: build/bench/accuracy
	@command -v gnuplot >/dev/null || src/test/setup.sh bench
	@$<
	@gnuplot src/bench/accuracy.gp && gnuplot src/bench/overload.gp
analysis: build/bench/analysis
	@$<
bench-merge: build/bench/merge
	@src/bench/$@.sh
build/bench/accuracy: $(addprefix src/bench/,accuracy.c figure7.c overload.c calibration.c probes.c products.c workload.c theory.c)
build/bench/analysis: $(addprefix src/bench/,analysis.c workload.c theory.c)
build/bench/merge: $(addprefix src/bench/,merge.c workload.c)
# Both write their tables into docs/filter.md and draw a figure; then filter-bench
# goes on inside PostgreSQL.
filter-accuracy filter-bench: filter-%: build/bench/filter_%
	@command -v gnuplot >/dev/null || src/test/setup.sh bench
	@$<
	@gnuplot src/bench/filter_$*.gp
	@[ $* = accuracy ] || src/bench/filter-bench.sh
filter-bench: build/bench/pg_filters.so
build/bench/pg_filters.so: src/bench/pg_filters.c src/pg/memory.o $(CORE_SRC:.c=.o)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_SL) -shared -o $@ $^
build/bench/filter_accuracy: $(addprefix src/bench/,filter_accuracy.c filter_theory.c filter_overloaded.c \
	filter_compare.c filter_workload.c workload.c)
build/bench/filter_bench: $(addprefix src/bench/,filter_bench.c filter_workload.c workload.c)
build/bench/accuracy build/bench/analysis build/bench/merge build/bench/filter_accuracy build/bench/filter_bench: \
	$(CORE_SRC) $(wildcard $(CORE:%=src/%/*.h) src/bench/*.h)
	@mkdir -p $(@D)
	gcc -std=c11 -g -O3 -Wall -Wextra -Isrc -o $@ $(filter %.c,$^) -lm

sets-bench-sql:
	@src/bench/sets.sh

# Does auto choose well?  Fails if not.
sets-model: build/bench/sets_bench
	@src/bench/sets-bench.sh model | tee build/bench/sets-model
	@! grep -q FAIL build/bench/sets-model

# SECTIONS="targets single multiple model" picks some, which are only printed.
sets-bench: build/bench/sets_bench
	@src/bench/sets-bench.sh $(SECTIONS)
build/bench/sets_bench: $(addprefix src/bench/,sets_bench.c sets_single.c \
		sets_multiple.c sets_targets.c sets_model.c sets_data.c) $(CORE_SRC) \
		build/bench/sets_std.o $(wildcard $(CORE:%=src/%/*.h) src/bench/*.h)
	@mkdir -p $(@D)
	gcc -std=c11 -g -O3 -Wall -Wextra -Isrc -o $@ $(filter %.c %.o,$^) -lm -lpthread
build/bench/sets_std.o: src/bench/sets_std.cpp
	@mkdir -p $(@D)
	g++ -O3 -Wall -Wextra -c -o $@ $<

# One after the other: each has the machine to itself.
figures:
	@set -e; for t in bench structures accuracy analysis filter-accuracy filter-bench sets-bench fdw-bench; do \
		echo "== $$t"; $(MAKE) -s $$t; done

bundle: all test-modules
	@src/test/bundle.sh
DIST := build/$(EXTENSION)-$(EXTVERSION).zip
deb:
	@src/test/package.sh build
dist: check-release
	@mkdir -p build
	git archive --format=zip --prefix=$(EXTENSION)-$(EXTVERSION)/ -o $(DIST) HEAD
check-dist: dist
	@src/test/check-dist.sh $(DIST)
