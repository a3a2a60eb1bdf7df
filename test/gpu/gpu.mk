# Tests and benchmarks of the CUDA engine, without PostgreSQL.
# They are built apart from the extension, so GPU_ARCHS=90 makes a quick build.

.PHONY: gpu-build gpu-test gpu-sanitize gpu-bench
GPU_ARCHS   ?= $(CUDA_ARCHS)
GPU_TESTS   := $(patsubst test/gpu/%.c,build/gpu/%,$(filter-out %/support.c,$(wildcard test/gpu/*.c)))
GPU_FAULTY   = build/gpu/faults build/gpu/sets_faults build/gpu/filter_faults
GPU_NVCC     = $(NVCC) $(filter-out -gencode arch=%,$(NVCC_FLAGS)) -I. \
	$(foreach a,$(GPU_ARCHS),-gencode arch=compute_$a,code=sm_$a)
GPU_CC       = gcc -std=c11 -g -O3 -ffp-contract=off -Wall -Wextra -Isrc -I. -Ibench -Icuda -I$(CUDA_ROOT)/include -MMD -MP
GPU_HOST    := $(CORE_SRC:src/%.c=build/gpu/%.o) build/gpu/test/gpu/support.o \
	build/gpu/bench/gpu_extra.o build/gpu/bench/gpu_sf.o
GPU_LIB     := $(CUDA_SRC:cuda/%.cu=build/gpu/cuda/%.o)
GPU_FAULTS  := $(CUDA_SRC:cuda/%.cu=build/gpu/faulty/%.o)
GPU_LINK     = -L$(CUDA_ROOT)/lib64 -lcudart_static -ldl -lrt -lpthread -lstdc++ -lm
.SECONDARY: $(GPU_HOST) $(GPU_LIB) $(GPU_FAULTS)
-include $(wildcard build/gpu/*.d build/gpu/*/*.d build/gpu/*/*/*.d)

gpu-build: $(GPU_TESTS) build/gpu/gpu_bench build/gpu/gpu_sets build/gpu/gpu_filter build/gpu/run.sh
gpu-test gpu-sanitize: gpu-%: gpu-build
	@build/gpu/run.sh $*
gpu-bench: gpu-build
	@build/gpu/run.sh bench
	@build/gpu/run.sh profile >build/gpu/counters.csv || :
	@bench/gpu_report.sh build/gpu/gpu-bench.tsv
$(filter-out $(GPU_FAULTY),$(GPU_TESTS)): build/gpu/%: build/gpu/test/gpu/%.o $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
$(GPU_FAULTY): build/gpu/%: build/gpu/test/gpu/%.o $(GPU_HOST) $(GPU_FAULTS)
	gcc -o $@ $^ $(GPU_LINK)
build/gpu/gpu_bench: $(addprefix build/gpu/bench/,gpu_bench.o gpu_sections.o gpu_kernels.o) $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
build/gpu/gpu_sets: $(addprefix build/gpu/bench/,gpu_sets.o gpu_sets_parts.o sets_data.o sets_single_pair.o) $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
build/gpu/gpu_filter: $(addprefix build/gpu/bench/,gpu_filter.o gpu_filter_bloom.o gpu_filter_kernels.o gpu_filter_host.o) $(GPU_HOST) $(GPU_LIB)
	gcc -o $@ $^ $(GPU_LINK)
build/gpu/run.sh: test/gpu/run.sh
	@mkdir -p $(@D)
	cp $< $@
build/gpu/%.o: src/%.c
	@mkdir -p $(@D)
	$(GPU_CC) -c -o $@ $<
build/gpu/test/%.o: test/%.c
	@mkdir -p $(@D)
	$(GPU_CC) -c -o $@ $<
build/gpu/bench/%.o: bench/%.c
	@mkdir -p $(@D)
	$(GPU_CC) -c -o $@ $<
build/gpu/bench/%.o: bench/%.cu
	@mkdir -p $(@D)
	$(GPU_NVCC) -c -o $@ $<
build/gpu/cuda/%.o: cuda/%.cu
	@mkdir -p $(@D)
	$(GPU_NVCC) -c -o $@ $<
build/gpu/faulty/%.o: cuda/%.cu
	@mkdir -p $(@D)
	$(GPU_NVCC) -DQS_CUDA_FAULTS -c -o $@ $<
