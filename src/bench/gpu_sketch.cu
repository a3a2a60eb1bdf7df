/*
 * gpu_sketch.cu
 *		Operations of sketches on a device that only tests and benchmarks need.
 *
 * src/bench/gpu_sketch.cu
 */
#include "sketch.cuh"

#include "gpu_sketch.h"

qb_status
qs_cuda_reset(qs_cuda_sketch *sk)
{
	qs_cuda *gpu = sk->gpu;

	QS_TRY(qs_cuda_enter(gpu));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(sk->view.table, 0, sk->table_bytes, gpu->stream));
	if (sk->extra_bytes > 0)
		QS_CUDA_TRY(gpu, cudaMemsetAsync(sk->view.extra, 0, sk->extra_bytes, gpu->stream));
	QS_CUDA_TRY(gpu, cudaMemsetAsync(sk->view.high_used, 0, sizeof(uint32_t), gpu->stream));
	sk->total = 0;
	sk->high_bound = sk->ever = 0;
	return QB_OK;
}

const qs_params *
qs_cuda_params(const qs_cuda_sketch *sk)
{
	return &sk->params;
}

int64_t
qs_cuda_total(const qs_cuda_sketch *sk)
{
	return sk->total;
}

qb_status
qs_cuda_widen(qs_cuda_sketch *sk)
{
	return qs_widen(sk);
}

qb_status
qs_cuda_fold(qs_cuda_sketch *sk, uint64_t n)
{
	qs_params target = sk->params;

	target.n = n;
	if (n < 1 || n > sk->params.n || !qs_params_mergeable(&sk->params, &target))
		return QB_NO_FOLD;
	QS_TRY(qs_cuda_enter(sk->gpu));
	return n == sk->params.n ? QB_OK : qs_fold_to(sk, n);
}
