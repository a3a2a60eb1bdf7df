#!/usr/bin/env bash
#
# Runs the tests that "make bundle" has packed, on a host with a GPU.  The host needs no
# installation, and the script leaves nothing behind.
#
#	gpu-host.sh [STEP...]      without a STEP: all but "large", "several" and "beside"
#	  suite    the SQL tests with qsketch.device = gpu
#	  faults   cancelled and killed queries, the worker, memory, restarts
#	  soak     many clients, for SOAK_SECONDS (60)
#	  beside   suite, faults and soak at the same time, each in servers of its own on the same GPU;
#	           the soak takes SOAK_SECONDS (200), and TAP_JOBS (6) files of faults run at a time
#	  bench    the GPU against the CPU
#	  sets     the GPU against the CPU, for all pairs of sets
#	  filters  the GPU against the CPU, for filters
#	  columns  cached columns against reading the table
#	  large    cached columns of a billion rows, which take 44 GB of disk and of memory
#	  several  cached columns on one, two and four GPUs
#	  ring     keys a second from backends to the GPU; must be at least RING_LEAST billions (0)
#
# The last line says "ok", or which steps failed.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
export QSKETCH_BUNDLE=$here/pg.tar.gz QSKETCH_GPU=${QSKETCH_GPU:-auto}
tree=$(mktemp -d "${TMPDIR:-/tmp}/qsketch-tree.XXXXXX")
trap 'rm -rf "$tree"' EXIT
tar -xzf "$here/tree.tar.gz" -C "$tree"
cd "$tree"

failed=

beside() {
	local name status=0
	declare -A run
	for name in soak suite faults; do
		SOAK_SECONDS=${SOAK_SECONDS:-200} TAP_JOBS=${TAP_JOBS:-6} "$here/gpu-host.sh" $name >"$tree/$name.log" 2>&1 &
		run[$name]=$!
	done
	for name in soak suite faults; do
		wait "${run[$name]}" || status=1
		printf '\n== beside: %s\n' $name
		tail -n 60 "$tree/$name.log"
	done
	return $status
}

step() {
	case $1 in
	suite) test/run.sh gpu $(cd sql_tests && echo *.sql | sed 's/\.sql//g') ;;
	faults) test/run.sh tap $(cd sql_tests/t && echo 01?_gpu_*.pl 0[4-9]?_gpu_*.pl 02[1-9]_gpu_*.pl) ;;
	beside) beside ;;
	soak) QSKETCH_SOAK_SECONDS=${SOAK_SECONDS:-60} test/run.sh tap 020_gpu_soak.pl ;;
	bench) bench/bench-gpu.sh ;;
	sets) bench/bench-gpu-sets.sh ;;
	filters) bench/bench-gpu-filters.sh ;;
	columns) bench/bench-gpu-columns.sh ;;
	large) bench/bench-gpu-columns-large.sh ;;
	several) bench/bench-gpu-several.sh ;;
	ring) LEAST=${RING_LEAST:-0} bench/bench-gpu-ring.sh ;;
	*) echo "unrecognized step: $1" && return 2 ;;
	esac
}

nvidia-smi --query-gpu=name,driver_version,memory.used --format=csv || :
[ $# != 0 ] || set -- suite faults soak bench sets filters columns ring
for name; do
	step "$name" || failed+=" $name"
done
nvidia-smi --query-gpu=memory.used --format=csv || :
if [ -n "$failed" ]; then echo "failed:$failed"; else echo ok; fi
[ -z "$failed" ]
