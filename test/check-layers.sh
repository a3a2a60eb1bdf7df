#!/usr/bin/env bash
#
# Checks that each folder of the source includes only permitted headers, and calls no forbidden
# functions.  Prints forbidden includes and calls, and fails if there are any.
#
# Folder, and the headers that its files may include:
#
#	base    base, libc
#	sketch, filter, sets   (the families) the folder's own headers, base, libc
#	engine  base, libc; in files FAMILY_*: the headers of this family, and FAMILY_*
#	cuda    base, the families, engine, cuda, the CUDA toolkit
#	pgbase  base, engine, pgbase, PostgreSQL
#	gpu     all folders except pg and scan; of cuda only *.h; PostgreSQL
#	pg      all folders except cuda and scan; PostgreSQL
#	scan    all folders except cuda; PostgreSQL
#
# In pgbase, gpu, pg and cuda a file belongs to the family of its prefix, and may not include files
# of another family.  A file without a prefix is for all families, and includes no file of a single
# family.  Files of top keys, top_*, belong to the sketches.
#
# Base and families call neither malloc() nor printf().  With these rules, programs without
# PostgreSQL can use and test base and families, and nvcc can compile them.  A build without CUDA
# needs no CUDA toolkit.
set -eu
cd "$(dirname "$0")/.."

families="sketch filter sets"
status=0

# includes FILE...: prints FILE:LINE:TEXT of each #include.
includes() {
	grep -nHE '^[[:space:]]*#[[:space:]]*include' "$@" /dev/null 2>/dev/null || :
}

# report WHAT RULE: reads forbidden includes or calls from standard input.  If there are any, prints
# them and sets status to 1.
report() {
	local offenders
	offenders=$(cat)
	[ -n "$offenders" ] || return 0
	printf '%s %s\n%s\n' "$1" "$2" "$offenders"
	status=1
}

# only REGEX FILE...: reports includes in these files that do not match.
only() {
	local regex=$1
	shift
	report "these" "may include only $regex" < <(includes "$@" | grep -vE "include[[:space:]]*($regex)" || :)
}

# never REGEX FILE...: reports includes in these files that match.
never() {
	local regex=$1
	shift
	report "these" "may not include $regex" < <(includes "$@" | grep -E "include[[:space:]]*($regex)" || :)
}

# headers_of FAMILY...: prints a regex of the families' headers.
headers_of() {
	local names="$*"
	names=${names// /|}
	names=${names/sketch/sketch|top}
	echo "\"($names)/|\"((engine|gpu|gpu/worker|pg)/)?($names)[_.]"
}

# family_of FILE: prints the family of the file's prefix; nothing if the file is for all families.
family_of() {
	local family name=${1##*/}
	for family in $families; do
		case $name in "$family"[_.]*) echo "$family" ;; esac
	done
	case $name in top[_.]*) echo sketch ;; esac
}

# others FAMILY: prints all families but this one.
others() {
	local family list=
	for family in $families; do
		[ "$family" = "$1" ] || list+=" $family"
	done
	echo $list
}

scan="src/scan $(find src/scan -mindepth 1 -type d | sort | tr '\n' ' ')"
libc='<(assert|errno|inttypes|limits|math|stdalign|stdbool|stddef|stdint|stdlib|string|immintrin|cpuid|arm_neon|sys/auxv)\.h>'
postgres='[<"](postgres|fmgr|miscadmin|funcapi|pgstat|(access|catalog|common|executor|lib|libpq|nodes|optimizer|parser|port|postmaster|storage|tcop|utils|pgbase|pg|gpu|scan)/)'
toolkit='<(cuda|cub|thrust|cooperative_groups|curand|nv)|"[^"]*\.cuh"'

only "\"base/|$libc" src/base/*.[ch]
for family in $families; do
	[ ! -d "src/$family" ] || only "\"(base|$family)/|$libc" "src/$family"/*.[ch]
done
for file in src/engine/*.[ch]; do
	family=$(family_of "$file")
	only "\"base/|${family:+\"$family/|\"engine/${family}_|}$libc" "$file"
done
for folder in src/base $(printf 'src/%s ' $families); do
	report "$folder" "may not allocate" < <(grep -nHE "\b(malloc|calloc|realloc|free)[(]" "$folder"/*.[ch] 2>/dev/null || :)
done

for file in src/pgbase/*.[ch] src/gpu/*.[ch] src/gpu/worker/*.[ch] src/pg/*.[ch] cuda/*.[ch] cuda/*.cu*; do
	never "$(headers_of $(others "$(family_of "$file")"))" "$file"
done

never "$postgres" cuda/*.[ch] cuda/*.cu*
never '"(pg|gpu|scan)/' src/pgbase/*.[ch]
never '"(pg|scan)/' src/gpu/*.[ch] src/gpu/worker/*.[ch]
never '"scan/' src/pg/*.[ch]
for folder in src/base $(printf 'src/%s ' $families) src/engine src/pgbase src/pg $scan src/gpu src/gpu/worker; do
	[ -d "$folder" ] || continue
	never "$toolkit" "$folder"/*.[ch]
	for header in cuda/*.h; do
		[[ $folder = src/gpu* ]] || never "\"(cuda/)?${header#cuda/}" "$folder"/*.[ch]
	done
done

# Code must not recognize objects by their names: see src/README.md, "What is trusted".  value.c and
# keyread.c compare texts of messages and of users, not names of objects.
for folder in src/pgbase src/pg $scan src/gpu src/gpu/worker; do
	report $folder "may not tell objects of the catalog by their names" < <(grep -nHE \
		'\b(strcmp|getExtensionOfObject|get_extension_oid|LookupFuncName|TypenameGetTypid|OpernameGetOprid)[(]' \
		$folder/*.[ch] | grep -vE '^src/(pg|pgbase)/(value|keyread)\.c:[0-9]+:.*\bstrcmp[(]' || :)
done

# A user who can compute the slots of a hash table can choose keys that share one slot.  So hash
# tables compute slots by base/slot.h, which has a secret.  The mixer has no secret.  Only the files
# below may use the mixer: they compute positions in sketches and filters, or draw random numbers.
mixing='base/hash\.h|engine/sketch_avx512\.c|filter/params\.h|pg/sketch_probe\.c|pgbase/process\.c'
mixing+='|sketch/(measure|cells|merge|multilevel|pieces|sf|sketch|unbiased|compact_write)\.c|sketch/(cells|kernels|params|sf)\.h'
report "these" "may not hash without a secret" < <(grep -nHE '\b(qb_(mix64|hash|reduce)|murmurhash(32|64))[(]' \
	src/{base,sketch,filter,sets,engine,pgbase,pg,scan,scan/*,gpu,gpu/worker}/*.[ch] |
	grep -vE "^src/($mixing):|:[[:space:]]*/?\*" || :)

[ $status != 0 ] || echo "layers ok"
exit $status
