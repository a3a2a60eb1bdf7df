#!/usr/bin/env bash
#
# Runs the programs that "make gpu-build" built, on a machine with a GPU.  The script
# needs only its folder.
#
#	run.sh test [cases]    compares random and large cases with the CPU, and tests faults
#	run.sh sanitize        small cases under the four tools of compute-sanitizer
#	run.sh bench [section ...]   benchmark of sketches, written to gpu-bench.tsv in the folder
#	run.sh sets [section ...]    benchmark of pairs of sets, written to gpu-sets.tsv
#	run.sh filter [section ...]  benchmark of filters, written to gpu-filter.tsv
#	run.sh profile         counters of the main kernels, by ncu
set -eu
here=$(cd "$(dirname "$0")" && pwd)
what=${1:?test, sanitize, bench, sets, filter or profile}
shift

# find_tool TOOL: prints the path of a CUDA tool, in PATH or in /usr/local/cuda.
find_tool() {
	command -v "$1" || ls /usr/local/cuda/bin/"$1" /usr/local/cuda/compute-sanitizer/"$1" 2>/dev/null |
		head -1
}

sanitize() {
	local tool sanitizer status=0
	sanitizer=$(find_tool compute-sanitizer)
	for tool in memcheck racecheck initcheck synccheck; do
		echo "== $tool"
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/parity" 0 "${1:-12}" || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/column" 0 "$((${1:-12} / 6))" || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/column_exact" 0 "$((${1:-12} / 6))" || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/sketch_groups" 0 "$((${1:-12} / 3))" || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/sketch_frequent" 0 "$((${1:-12} / 3))" || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/sets_parity" 0 "$((${1:-12} / 3))" || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/sets_memberships" 0 "$((${1:-12} / 6))" || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/filter_parity" 0 "${1:-12}" || status=1
		# blocked filters: case 43 has two cache lines, and cases 61 and 64 partition batches
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/filter_parity" 43 1 || status=1
		"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 \
			"$here/filter_parity" 60 "${1:-12}" || status=1
	done
	return $status
}

profile() {
	local metrics=dram__bytes_read.sum,dram__bytes_write.sum,lts__t_bytes.sum
	metrics+=,lts__t_sectors_op_red.sum,lts__t_sectors_op_atom.sum,lts__t_sectors_op_read.sum
	metrics+=,l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum
	metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum
	metrics+=,l1tex__t_requests_pipe_lsu_mem_global_op_red.sum
	metrics+=,l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum
	metrics+=,gpu__time_duration.sum,sm__warps_active.avg.pct_of_peak_sustained_active
	"$(find_tool ncu)" --clock-control none --csv --metrics "$metrics" \
		--kernel-name 'regex:insert_keys|query_keys|sort_coarse|sort_fine|qs_tile' \
		"$here/gpu_bench" profile
}

case $what in
test)
	status=0
	"$here/parity" 0 "${1:-4000}" || status=1
	"$here/large" || status=1
	"$here/column" 0 "$((${1:-4000} / 40))" || status=1
	"$here/column_exact" 0 "$((${1:-4000} / 40))" || status=1
	"$here/sketch_groups" 0 "$((${1:-4000} / 20))" || status=1
	"$here/sketch_frequent" 0 "$((${1:-4000} / 20))" || status=1
	"$here/faults" || status=1
	"$here/sets_parity" 0 "$((${1:-4000} / 4))" || status=1
	"$here/sets_memberships" 0 "$((${1:-4000} / 40))" || status=1
	"$here/sets_faults" || status=1
	"$here/filter_parity" 0 "${1:-4000}" large || status=1
	"$here/filter_large" || status=1
	"$here/filter_faults" || status=1
	exit $status
	;;
sanitize) sanitize "$@" ;;
bench) "$here/gpu_bench" "$@" | tee "$here/gpu-bench.tsv" ;;
sets) "$here/gpu_sets" "$@" | tee "$here/gpu-sets.tsv" ;;
filter) "$here/gpu_filter" "$@" | tee "$here/gpu-filter.tsv" ;;
profile) profile ;;
*) echo "unrecognized: $what" >&2 && exit 2 ;;
esac
