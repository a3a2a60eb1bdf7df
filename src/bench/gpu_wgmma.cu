/*
 * gpu_wgmma.cu
 *		What the wgmma instruction gives the product of bit matrices, beside the
 *		mma instruction that cuda/sets_product.cu uses: a trial, on sm_90a alone.
 *
 *	gpu_wgmma
 *
 * Two rates of each: of the instruction by itself, on the same bits again and
 * again, and, of wgmma, of all pairs of 8192 sets with 262144 bits each, of which
 * counts are compared with plain population counts.  Lines of tabs, as gpu_sets.
 *
 * A block of two warpgroups makes a tile of 128 x 256 counts, each 64 x 256 of
 * them with one instruction for 256 bits.  Bits are in shared memory in rows of
 * 128 bytes, whose quarters of 32 bytes one instruction takes; the 16-byte pieces
 * of a row are swapped by its number in its group of eight (the 128-byte swizzle
 * that the instruction knows), so that they lie in different banks.
 *
 * src/bench/gpu_wgmma.cu
 */
#include <cstdio>
#include <cstdlib>
#include <cuda_pipeline.h>

#include "base/hash.h"

#define SETS    8192
#define WORDS   8192 /* of a set */
#define ROWS    128
#define COLUMNS 256
#define STEP    32 /* words of a row that are in shared memory at a time */
#define STAGES  4
#define THREADS 256
#define SUMS    128 /* of a thread */
#define REPEAT  4096

#define TRY(call)                                                           \
	do                                                                      \
	{                                                                       \
		cudaError_t error_ = (call);                                        \
		if (error_ != cudaSuccess)                                          \
		{                                                                   \
			fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
			exit(2);                                                        \
		}                                                                   \
	}                                                                       \
	while (0)

struct stage
{
	uint32_t row[ROWS][STEP], column[COLUMNS][STEP];
};

/* A matrix in shared memory: its address, 1024 bytes to the next eight rows, 128-byte swizzle. */
__device__ __forceinline__ uint64_t
describe(const uint32_t *p)
{
	uint64_t address = (uint64_t) __cvta_generic_to_shared(p);

	return (address & 0x3FFFF) >> 4 | UINT64_C(1) << 16 | UINT64_C(64) << 32 | UINT64_C(1) << 62;
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
/* 64 x 256 counts of 256 bits each, added to what is there. */
__device__ __forceinline__ void
multiply(int *d, uint64_t a, uint64_t b)
{
	asm volatile(
		"wgmma.mma_async.sync.aligned.m64n256k256.s32.b1.b1.and.popc {"
		"%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
		"%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
		"%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
		"%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63,"
		"%64,%65,%66,%67,%68,%69,%70,%71,%72,%73,%74,%75,%76,%77,%78,%79,"
		"%80,%81,%82,%83,%84,%85,%86,%87,%88,%89,%90,%91,%92,%93,%94,%95,"
		"%96,%97,%98,%99,%100,%101,%102,%103,%104,%105,%106,%107,%108,%109,%110,%111,"
		"%112,%113,%114,%115,%116,%117,%118,%119,%120,%121,%122,%123,%124,%125,%126,%127"
		"}, %128, %129, 1;"
		: "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3]), "+r"(d[4]), "+r"(d[5]), "+r"(d[6]),
		  "+r"(d[7]), "+r"(d[8]), "+r"(d[9]), "+r"(d[10]), "+r"(d[11]), "+r"(d[12]), "+r"(d[13]),
		  "+r"(d[14]), "+r"(d[15]), "+r"(d[16]), "+r"(d[17]), "+r"(d[18]), "+r"(d[19]), "+r"(d[20]),
		  "+r"(d[21]), "+r"(d[22]), "+r"(d[23]), "+r"(d[24]), "+r"(d[25]), "+r"(d[26]), "+r"(d[27]),
		  "+r"(d[28]), "+r"(d[29]), "+r"(d[30]), "+r"(d[31]), "+r"(d[32]), "+r"(d[33]), "+r"(d[34]),
		  "+r"(d[35]), "+r"(d[36]), "+r"(d[37]), "+r"(d[38]), "+r"(d[39]), "+r"(d[40]), "+r"(d[41]),
		  "+r"(d[42]), "+r"(d[43]), "+r"(d[44]), "+r"(d[45]), "+r"(d[46]), "+r"(d[47]), "+r"(d[48]),
		  "+r"(d[49]), "+r"(d[50]), "+r"(d[51]), "+r"(d[52]), "+r"(d[53]), "+r"(d[54]), "+r"(d[55]),
		  "+r"(d[56]), "+r"(d[57]), "+r"(d[58]), "+r"(d[59]), "+r"(d[60]), "+r"(d[61]), "+r"(d[62]),
		  "+r"(d[63]), "+r"(d[64]), "+r"(d[65]), "+r"(d[66]), "+r"(d[67]), "+r"(d[68]), "+r"(d[69]),
		  "+r"(d[70]), "+r"(d[71]), "+r"(d[72]), "+r"(d[73]), "+r"(d[74]), "+r"(d[75]), "+r"(d[76]),
		  "+r"(d[77]), "+r"(d[78]), "+r"(d[79]), "+r"(d[80]), "+r"(d[81]), "+r"(d[82]), "+r"(d[83]),
		  "+r"(d[84]), "+r"(d[85]), "+r"(d[86]), "+r"(d[87]), "+r"(d[88]), "+r"(d[89]), "+r"(d[90]),
		  "+r"(d[91]), "+r"(d[92]), "+r"(d[93]), "+r"(d[94]), "+r"(d[95]), "+r"(d[96]), "+r"(d[97]),
		  "+r"(d[98]), "+r"(d[99]), "+r"(d[100]), "+r"(d[101]), "+r"(d[102]), "+r"(d[103]),
		  "+r"(d[104]), "+r"(d[105]), "+r"(d[106]), "+r"(d[107]), "+r"(d[108]), "+r"(d[109]),
		  "+r"(d[110]), "+r"(d[111]), "+r"(d[112]), "+r"(d[113]), "+r"(d[114]), "+r"(d[115]),
		  "+r"(d[116]), "+r"(d[117]), "+r"(d[118]), "+r"(d[119]), "+r"(d[120]), "+r"(d[121]),
		  "+r"(d[122]), "+r"(d[123]), "+r"(d[124]), "+r"(d[125]), "+r"(d[126]), "+r"(d[127])
		: "l"(a), "l"(b));
}

__device__ __forceinline__ void
begin_group(void)
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

__device__ __forceinline__ void
end_group(void)
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
	asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/* What was written by the threads is seen by the instruction. */
__device__ __forceinline__ void
publish(void)
{
	asm volatile("fence.proxy.async;" ::: "memory");
}
#else
__device__ __forceinline__ void
multiply(int *, uint64_t, uint64_t)
{
}
__device__ __forceinline__ void
begin_group(void)
{
}
__device__ __forceinline__ void
end_group(void)
{
}
__device__ __forceinline__ void
publish(void)
{
}
#endif

/* Queue the copy of a step's words of so many sets, swizzled. */
template <int Sets>
__device__ __forceinline__ void
load_sets(uint32_t (*to)[STEP], const uint32_t *from)
{
	for (int i = threadIdx.x; i < Sets * STEP / 4; i += THREADS)
	{
		int r = i / (STEP / 4), piece = i % (STEP / 4);

		__pipeline_memcpy_async(&to[r][(piece ^ (r % 8)) * 4],
								&from[(uint64_t) r * WORDS + piece * 4], 16);
	}
}

__global__ void
__launch_bounds__(THREADS, 1) multiply_all(const uint32_t *bits, uint32_t *count)
{
	extern __shared__ __align__(1024) stage stages[];
	const uint64_t row = (uint64_t) blockIdx.x * ROWS, column = (uint64_t) blockIdx.y * COLUMNS;
	const int group = threadIdx.x / 128, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
	int sum[SUMS] = {};

	if (column + COLUMNS <= row + 1)
		return; /* no later column */
	for (int s = 0; s < STAGES - 1; s++)
	{
		load_sets<ROWS>(stages[s].row, bits + row * WORDS + s * STEP);
		load_sets<COLUMNS>(stages[s].column, bits + column * WORDS + s * STEP);
		__pipeline_commit();
	}
	for (int at = 0; at < WORDS / STEP; at++)
	{
		stage *here = &stages[at % STAGES];
		int next = at + STAGES - 1;

		__pipeline_wait_prior(STAGES - 2);
		publish();
		__syncthreads(); /* and all have done with the stage that is filled now */
		if (next < WORDS / STEP)
		{
			load_sets<ROWS>(stages[next % STAGES].row, bits + row * WORDS + next * STEP);
			load_sets<COLUMNS>(stages[next % STAGES].column, bits + column * WORDS + next * STEP);
		}
		__pipeline_commit();
		begin_group();
		for (int k = 0; k < STEP; k += 8)
			multiply(sum, describe(&here->row[group * 64][k]), describe(&here->column[0][k]));
		end_group();
	}
	for (int j = 0; j < COLUMNS / 8; j++)
		for (int k = 0; k < 4; k++)
			count[(row + group * 64 + warp * 16 + lane / 4 + k / 2 * 8) * SETS + column + j * 8 +
				  lane % 4 * 2 + k % 2] = sum[j * 4 + k];
}

/* The instruction by itself, 64 x 256 x 256 bits for each warpgroup. */
__global__ void
__launch_bounds__(THREADS, 1) repeat_wgmma(uint32_t *out)
{
	extern __shared__ __align__(1024) stage stages[];
	int sum[SUMS] = {};

	for (int i = threadIdx.x; i < (int) (sizeof(stage) / 4); i += THREADS)
		((uint32_t *) stages)[i] = i * 2654435761u;
	publish();
	__syncthreads();
	for (int n = 0; n < REPEAT; n += 4)
	{
		begin_group();
		for (int k = 0; k < STEP; k += 8)
			multiply(sum, describe(&stages->row[threadIdx.x / 128 * 64][k]),
					 describe(&stages->column[0][k]));
		end_group();
	}
	for (int i = 0; i < SUMS; i++)
		out[blockIdx.x * THREADS + threadIdx.x] += sum[i];
}

/* That of sets_product.cu by itself, 16 x 8 x 256 bits for each warp, four sums at a time. */
__global__ void
__launch_bounds__(THREADS, 2) repeat_mma(uint32_t *out)
{
	uint32_t a[4] = { threadIdx.x, 3, 5, 7 }, b[2] = { threadIdx.x * 7, 9 };
	int d[4][4] = {};

	for (int n = 0; n < REPEAT; n++)
#pragma unroll
		for (int i = 0; i < 4; i++)
			asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
						 "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
						 : "+r"(d[i][0]), "+r"(d[i][1]), "+r"(d[i][2]), "+r"(d[i][3])
						 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
	for (int i = 0; i < 16; i++)
		out[blockIdx.x * THREADS + threadIdx.x] += d[i / 4][i % 4];
}

__global__ void
random_bits(uint32_t *bits)
{
	uint64_t stride = (uint64_t) gridDim.x * blockDim.x;

	for (uint64_t i = (uint64_t) blockIdx.x * blockDim.x + threadIdx.x; i < (uint64_t) SETS * WORDS;
		 i += stride)
		bits[i] = (uint32_t) (qs_mix64(i) & qs_mix64(i + (UINT64_C(1) << 40)));
}

/* A block for each of some pairs. */
__global__ void
check_counts(const uint32_t *bits, const uint32_t *count, unsigned long long *wrong)
{
	__shared__ uint32_t sum;
	uint64_t a = qs_mix64(blockIdx.x) % SETS, b = qs_mix64(blockIdx.x + 1000000) % SETS;

	if (a >= b)
		return;
	if (threadIdx.x == 0)
		sum = 0;
	__syncthreads();
	for (int i = threadIdx.x; i < WORDS; i += blockDim.x)
		atomicAdd(&sum, __popc(bits[a * WORDS + i] & bits[b * WORDS + i]));
	__syncthreads();
	if (threadIdx.x == 0 && sum != count[a * SETS + b])
		atomicAdd(wrong, 1);
}

template <typename Launch>
static float
least_ms(Launch launch)
{
	cudaEvent_t at[2];
	float ms, best = 1e9;

	TRY(cudaEventCreate(&at[0]));
	TRY(cudaEventCreate(&at[1]));
	for (int i = 0; i < 5; i++)
	{
		TRY(cudaEventRecord(at[0]));
		launch();
		TRY(cudaGetLastError());
		TRY(cudaEventRecord(at[1]));
		TRY(cudaEventSynchronize(at[1]));
		TRY(cudaEventElapsedTime(&ms, at[0], at[1]));
		best = ms < best ? ms : best;
	}
	return best;
}

static void
line(const char *what, double bits, float ms)
{
	printf("wgmma\t%s\t%.4g\tPbit-operations/s\n", what, bits / ms / 1e12);
}

int
main(void)
{
	const size_t shared = STAGES * sizeof(stage);
	double blocks = 0;
	uint32_t *bits, *count, *out;
	unsigned long long *wrong, here = 0;
	int processors, major;

	TRY(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
	if (major != 9)
	{
		fprintf(stderr, "this device has no such instruction\n");
		return 2;
	}
	TRY(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
	TRY(cudaMalloc(&bits, (size_t) SETS * WORDS * 4));
	TRY(cudaMalloc(&count, (size_t) SETS * SETS * 4));
	TRY(cudaMalloc(&out, (size_t) processors * 2 * THREADS * 4));
	TRY(cudaMalloc(&wrong, 8));
	TRY(cudaMemset(wrong, 0, 8));
	TRY(cudaFuncSetAttribute(multiply_all, cudaFuncAttributeMaxDynamicSharedMemorySize,
							 (int) shared));
	TRY(cudaFuncSetAttribute(repeat_wgmma, cudaFuncAttributeMaxDynamicSharedMemorySize,
							 (int) shared));
	random_bits<<<1024, 256>>>(bits);
	line("mma by itself", (double) processors * 2 * THREADS / 32 * REPEAT * 4 * 16 * 8 * 256,
		 least_ms([&] { repeat_mma<<<processors * 2, THREADS>>>(out); }));
	line("wgmma by itself", (double) processors * 2 * REPEAT * 64 * 256 * 256,
		 least_ms([&] { repeat_wgmma<<<processors, THREADS, shared>>>(out); }));
	for (int r = 0; r < SETS / ROWS; r++)
		for (int c = 0; c < SETS / COLUMNS; c++)
			blocks += !((c + 1) * COLUMNS <= r * ROWS + 1);
	line("wgmma, k = 8192", blocks * ROWS * COLUMNS * WORDS * 32, least_ms([&] {
			 multiply_all<<<dim3(SETS / ROWS, SETS / COLUMNS), THREADS, shared>>>(bits, count);
		 }));
	check_counts<<<20000, 128>>>(bits, count, wrong);
	TRY(cudaMemcpy(&here, wrong, 8, cudaMemcpyDeviceToHost));
	printf("wgmma\tcounts that differ\t%llu\t\n", here);
	return here != 0;
}
