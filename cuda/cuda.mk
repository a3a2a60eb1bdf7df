# The CUDA engine in the module: what is compiled by nvcc, and what is linked.
#
# In the module nvcc compiles only the files of cuda/.  Their objects go into an
# archive, which is linked with the static runtime, so the module loads without
# a driver.  WITH_CUDA=no needs only a host compiler.

CUDA_HOME ?= /usr/local/cuda
NVCC      := $(firstword $(wildcard $(CUDA_HOME)/bin/nvcc) $(shell command -v nvcc 2>/dev/null))
WITH_CUDA ?= $(if $(and $(NVCC),$(CUDA_SRC)),yes,no)

ifeq ($(WITH_CUDA),yes)
CUDA_ARCHS ?= $(filter 80 90 100 120,$(patsubst sm_%,%,$(shell $(NVCC) --list-gpu-code)))
CUDA_OBJS  := $(CUDA_SRC:.cu=.o)
CUDA_DEFINE := -DQSKETCH_CUDA
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
CUDA_NOTE   = building without CUDA: $(if $(NVCC),$(if $(CUDA_SRC),WITH_CUDA=no,no kernels in cuda/),nvcc not found)
endif
