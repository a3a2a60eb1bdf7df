#!/usr/bin/env bash
#
# Checks which part of the source includes which: prints offenders and fails.
#
#	core    the sketches: itself and libc, but it neither allocates nor prints
#	sets    intersection of sets: itself, libc, and what core has for all families;
#	        it neither allocates nor prints
#	engine  the backends' tables of functions: core, sets and libc
#	cuda    kernels and the CUDA engine: core, engine, the CUDA toolkit
#	pg, scan, gpu   PostgreSQL and all of the above, but no CUDA header; gpu
#	        alone sees cuda/, through its plain C headers
#
# So the sketches can be used, tested and compiled by nvcc without PostgreSQL,
# and a build without CUDA needs nothing of it.
set -eu
cd "$(dirname "$0")/../.."

status=0

# includes FOLDER: FILE:LINE:the #include lines of that folder.
includes() {
	grep -nHE '^[[:space:]]*#[[:space:]]*include' "$1"/*.* /dev/null 2>/dev/null || :
}

# report FOLDER RULE: the offenders on standard input.
report() {
	local offenders
	offenders=$(cat)
	[ -n "$offenders" ] || return 0
	printf '%s %s\n%s\n' "$1" "$2" "$offenders"
	status=1
}

# only FOLDER REGEX: includes nothing else than what matches.
only() {
	report "$1" "may include only $2" < <(includes "$1" | grep -vE "include[[:space:]]*($2)" || :)
}

# never FOLDER REGEX: includes nothing that matches.
never() {
	report "$1" "may not include $2" < <(includes "$1" | grep -E "include[[:space:]]*($2)" || :)
}

libc='<(assert|errno|inttypes|limits|stdalign|stdbool|stddef|stdint|stdlib|string|immintrin|cpuid)\.h>'
postgres='[<"](postgres|fmgr|miscadmin|funcapi|pgstat|(access|catalog|common|executor|lib|libpq|nodes|optimizer|parser|port|postmaster|storage|tcop|utils|pg|gpu|scan)/)'
toolkit='<(cuda|cub|thrust|cooperative_groups|curand|nv)|"[^"]*\.cuh"'

only src/core "\"core/|$libc"
only src/sets "\"(core|sets)/|$libc"
only src/engine "\"(core|sets|engine)/|$libc"
for folder in src/core src/sets; do
	report $folder "may not allocate" < <(grep -nHE "\b(malloc|calloc|realloc|free)[(]" $folder/*.[ch] || :)
done
never cuda "$postgres"
for folder in src/core src/sets src/engine src/pg src/scan src/gpu; do
	never "$folder" "$toolkit"
	for header in cuda/*.h; do
		[ "$folder" = src/gpu ] || never "$folder" "\"(cuda/)?${header#cuda/}"
	done
done

[ $status != 0 ] || echo "layers ok"
exit $status
