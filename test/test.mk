# Tests that need no GPU.

.PHONY: test unit fuzz regress regress-gpu isolation tap soak matrix link-tests test-modules
test:
	@test/run.sh
regress: all
	@test/run.sh regress $(REGRESS)
regress-gpu: all test-modules
	@test/run.sh gpu $(REGRESS)
soak: all test-modules
	@QSKETCH_SOAK_SECONDS=$(or $(SOAK_SECONDS),600) test/run.sh tap 020_gpu_soak.pl
isolation: all
	@test/run.sh isolation $(ISOLATION)
tap: all test-modules
	@test/run.sh tap $(PROVE_TESTS)

# Modules that some TAP tests load into their servers.
test-modules: $(patsubst test/modules/%.c,build/test/%.so,$(wildcard test/modules/*.c)) build/test/qsketch_emulate.so
build/test/%.so: test/modules/%.c $(wildcard src/*/*.h src/*/*/*.h)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_SL) -shared -o $@ $<

# The emulated GPU, with copies of the CPU engines.
EMULATE_OBJS := $(CORE_SRC:.c=.o)
build/test/qsketch_emulate.so: $(wildcard test/modules/qsketch_emulate/*.[ch] src/*/*.h src/*/*/*.h) $(EMULATE_OBJS)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS)) $(CFLAGS_SL) -shared -o $@ $(filter %.c %.o,$^) $(filter --coverage,$(SHLIB_LINK))

matrix:
	@test/matrix.sh $(VERSIONS)

link-tests:
	@mkdir -p build/links
	@ln -sfn $(abspath sql_tests)       build/links/sql
	@ln -sfn $(abspath sql_tests/specs) build/links/specs
	@ln -sfn $(abspath expected)        build/links/expected

# The sketches without PostgreSQL: compiled once for each kind of sanitizer
# build, then linked with each test.  Every test runs, even after a failure.
SAN_FLAGS  = -std=c11 -g -O1 -ffp-contract=off -Wall -Wextra -Werror -Isrc -I. -MMD -MP -fno-sanitize-recover=all
UNIT_CC    = $(UNIT_COMPILER) $(SAN_FLAGS) -fsanitize=$(UNIT_SANITIZERS)
FUZZ_CC    = $(firstword $(shell command -v clang clang-14 2>/dev/null) clang) $(SAN_FLAGS)
UNIT      := $(patsubst test/unit/%.c,build/unit/%,$(wildcard test/unit/*.c))
FUZZ      := $(patsubst test/fuzz/%.c,build/fuzz/%,$(wildcard test/fuzz/*.c))
UNIT_OBJS := $(CORE_SRC:src/%.c=build/unit/%.o)
FUZZ_OBJS := $(CORE_SRC:src/%.c=build/fuzz/%.o)
FUZZ_SECONDS ?= 30
# Another compiler builds the unit tests for another architecture; unit.sh says how they run then.
UNIT_COMPILER   ?= gcc
UNIT_SANITIZERS ?= address,undefined

# Names, tokens, turns and clearing are tested with code of the server, compiled against PostgreSQL's headers.
TOKENS      := gpu/handles.o gpu/names.o gpu/sketch_token.o
SERVER_FLAGS  = -std=gnu11 $(CPPFLAGS) $(addprefix -Wno-,unused-parameter sign-compare missing-field-initializers ignored-attributes)
ifeq ($(PGXS),)
UNIT := $(filter-out %_names %_tokens %_schedule %_clearing,$(UNIT))
FUZZ := $(filter-out %_tokens,$(FUZZ))
endif
build/unit/test_tokens: $(TOKENS:%=build/unit/%)
build/fuzz/fuzz_tokens: $(TOKENS:%=build/fuzz/%)
build/unit/test_names: build/unit/gpu/names.o
build/unit/test_schedule: build/unit/gpu/worker/schedule.o
build/unit/test_clearing: build/unit/pgbase/memory.o
build/unit/test_sets_sorted: build/unit/bench/sets_single_pair.o

# The references of other papers' structures, without the programs that measure them.
PEERS := $(filter-out peers peers_top peers_merged peers_papers peers_stored peers_pglz,$(patsubst bench/%.c,%,$(wildcard bench/peers*.c)))
build/unit/test_peers build/unit/test_peers_list: $(PEERS:%=build/unit/bench/%.o) build/unit/bench/workload.o
build/unit/test_names build/unit/test_schedule build/unit/test_clearing build/unit/test_tokens build/fuzz/fuzz_tokens: private SAN_FLAGS += $(SERVER_FLAGS)
build/unit/gpu/%.o build/fuzz/gpu/%.o build/unit/pgbase/%.o: SAN_FLAGS += $(SERVER_FLAGS)

.SECONDARY: $(UNIT_OBJS) $(FUZZ_OBJS) build/unit/gpu/worker/schedule.o build/unit/pgbase/memory.o $(PEERS:%=build/unit/bench/%.o) build/unit/bench/workload.o $(TOKENS:%=build/unit/%) $(TOKENS:%=build/fuzz/%)
-include $(wildcard $(foreach d,build/unit build/fuzz,$d/*.d $d/*/*.d $d/*/*/*.d))

# As many programs run at a time as there are cores; the output of each stays together.
unit: $(UNIT)
	@printf '%s\n' $(UNIT) | xargs -P "$$(nproc)" -n 1 test/unit.sh
$(UNIT): build/unit/%: test/unit/%.c $(UNIT_OBJS)
	@mkdir -p $(@D)
	$(UNIT_CC) -o $@ $(filter %.c %.o,$^) -lcmocka -lm
build/unit/%.o: src/%.c
	@mkdir -p $(@D)
	$(UNIT_CC) -c -o $@ $<
build/unit/bench/%.o: bench/%.c
	@mkdir -p $(@D)
	$(UNIT_CC) -c -o $@ $<

# New inputs are kept in build/fuzz/corpus.  The golden sketches are the seeds.
fuzz: $(FUZZ)
	@set -e; for f in $(FUZZ); do echo "== $$f"; mkdir -p build/fuzz/corpus/$$(basename $$f); \
		$$f -max_total_time=$(FUZZ_SECONDS) -print_final_stats=1 -artifact_prefix=build/fuzz/ \
		build/fuzz/corpus/$$(basename $$f) $(wildcard test/golden); done
$(FUZZ): build/fuzz/%: test/fuzz/%.c $(FUZZ_OBJS)
	@mkdir -p $(@D)
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -o $@ $(filter %.c %.o,$^) -lm
build/fuzz/%.o: src/%.c
	@mkdir -p $(@D)
	$(FUZZ_CC) -fsanitize=fuzzer-no-link,address,undefined -c -o $@ $<
