# The demonstration, the benchmarks, and the tables that they write into docs.

.PHONY: bench bench-sql bench-top bench-exact bench-forms bench-huge bench-rollup bench-stock bench-stock-newest bench-size bench-gpu bench-gpu-columns bench-gpu-columns-large bench-gpu-several bench-gpu-filters bench-gpu-ring bench-gpu-sets bench-merge fdw-bench structures weights accuracy analysis filter-accuracy filter-bench sets-bench sets-bench-sql sets-joins sets-model figures demo
demo:
	@bench/demo.sh
bench:
	@bench/bench.sh
	@bench/bench-size.sh
bench-sql bench-top bench-exact bench-forms bench-huge bench-rollup bench-stock bench-stock-newest bench-size bench-gpu bench-gpu-columns bench-gpu-columns-large bench-gpu-several bench-gpu-filters bench-gpu-ring bench-gpu-sets fdw-bench structures weights:
	@bench/$@.sh
# accuracy and analysis write their tables into docs/; accuracy also draws its figures.  PART=peers, or
# another name from accuracy.c, makes only this part.
accuracy: build/bench/accuracy
	@command -v gnuplot >/dev/null || test/setup.sh bench
	@$< $(PART)
	@set -e; for figure in accuracy overload peers; do [ ! -f build/bench/$$figure.dat ] || gnuplot bench/$$figure.gp; done
analysis: build/bench/analysis
	@$<
bench-merge: build/bench/merge
	@bench/$@.sh
build/bench/accuracy: $(addprefix bench/,accuracy.c figure7.c overload.c calibration.c probes.c products.c distinct.c workload.c theory.c) \
	$(wildcard bench/peers*.c)
# Links the compression of PostgreSQL's own library, which some packages keep among the server's libraries.
build/bench/accuracy: private BENCH_FLAGS = -I$(shell $(PG_CONFIG) --includedir-server) \
	-L$(shell $(PG_CONFIG) --libdir) -L$(shell $(PG_CONFIG) --pkglibdir) -lpgcommon
build/bench/analysis: $(addprefix bench/,analysis.c workload.c theory.c)
build/bench/merge: $(addprefix bench/,merge.c workload.c)
# filter-accuracy and filter-bench write their tables into docs/engineering/filter-measurements.md;
# filter-bench also draws a figure.
filter-accuracy: build/bench/filter_accuracy
	@$<
filter-bench: build/bench/filter_bench build/bench/pg_filters.so
	@command -v gnuplot >/dev/null || test/setup.sh bench
	@$<
	@gnuplot bench/filter_bench.gp
	@bench/filter-bench.sh
build/bench/pg_filters.so: bench/pg_filters.c src/pgbase/memory.o $(CORE_SRC:.c=.o)
	@mkdir -p $(@D)
	$(CC) $(CPPFLAGS) $(CFLAGS) $(CFLAGS_SL) -shared -o $@ $^
build/bench/filter_accuracy: $(addprefix bench/,filter_accuracy.c filter_theory.c filter_overloaded.c \
	filter_compare.c filter_workload.c workload.c)
build/bench/filter_bench: $(addprefix bench/,filter_bench.c filter_workload.c workload.c)
build/bench/accuracy build/bench/analysis build/bench/merge build/bench/filter_accuracy build/bench/filter_bench: \
	$(CORE_SRC) $(wildcard $(CORE:%=src/%/*.h) bench/*.h)
	@mkdir -p $(@D)
	gcc -std=c11 -g -O3 -Wall -Wextra -Isrc -I. -o $@ $(filter %.c,$^) $(BENCH_FLAGS) -lm

sets-bench-sql:
	@bench/sets.sh

# Fails if the methods find different pairs.
sets-joins: build/bench/sets_bench
	@command -v gnuplot >/dev/null || test/setup.sh bench
	@bench/sets-joins.sh

# Fails unless the method "auto" chooses well.
sets-model: build/bench/sets_bench
	@bench/sets-bench.sh model | tee build/bench/sets-model
	@! grep -q FAIL build/bench/sets-model

# SECTIONS="targets single multiple model" picks sections, which are then printed and not written.
sets-bench: build/bench/sets_bench
	@bench/sets-bench.sh $(SECTIONS)
build/bench/sets_bench: $(addprefix bench/,sets_bench.c sets_single.c \
		sets_multiple.c sets_targets.c sets_model.c sets_joins.c sets_prefix.c sets_allpairs.c sets_ppjoin.c \
		sets_data.c sets_single_pair.c) $(CORE_SRC) \
		build/bench/sets_std.o $(wildcard $(CORE:%=src/%/*.h) bench/*.h)
	@mkdir -p $(@D)
	gcc -std=c11 -g -O3 -Wall -Wextra -Isrc -I. -o $@ $(filter %.c %.o,$^) -lm -lpthread
build/bench/sets_std.o: bench/sets_std.cpp
	@mkdir -p $(@D)
	g++ -O3 -Wall -Wextra -c -o $@ $<

# One target runs after another, so that each has the machine to itself.
figures:
	@set -e; for t in bench bench-exact bench-forms bench-rollup bench-stock bench-top structures weights accuracy \
		analysis filter-accuracy filter-bench sets-bench sets-bench-sql sets-joins fdw-bench; do \
		echo "== $$t"; $(MAKE) -s $$t; done
