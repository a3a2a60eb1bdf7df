#!/usr/bin/env bash
#
# Measures how many keys a second the ring passes to the GPU: "make bench-gpu-ring", on a host with
# a GPU.  Several sessions send batches that exist already, each to a sketch of its own.  Prints a
# Markdown table.  bench-gpu-ring.sql makes the procedure that each session calls.
#
# SENDERS ("1 4 15") are the numbers of sessions.  All sessions together send KEYS (2000000000) to
# sketches of SIZE (1MB).  With the last number of sessions, the ring must pass at least LEAST (0)
# billion keys a second.  QSKETCH_GPU=emulate tries the script without a GPU (default: auto).
set -eu -o pipefail
. "$(dirname "$0")/server.sh"

senders=${SENDERS:-1 4 15}
keys=${KEYS:-2000000000}
size=${SIZE:-1MB}

# send SENDERS: starts this number of sessions, which begin to send at the same
# time.
send() {
	local number
	psql -Xqc 'TRUNCATE sent'
	psql -Xqc "SET statement_timeout = '60s'" -c 'SELECT pg_advisory_lock(1)' -c "CALL await_senders($1)" -c 'SELECT pg_advisory_unlock(1)' >/dev/null &
	until psql -XAtqc "SELECT 1 FROM pg_locks WHERE locktype = 'advisory'" | grep -q 1; do sleep 0.1; done
	for ((number = 1; number <= $1; number++)); do
		psql -Xq -v ON_ERROR_STOP=1 -c "CALL send($number, '$size', $((keys / $1)))" &
	done
	wait
}

server_build bench >&2
[ -n "${QSKETCH_BUNDLE:-}" ] || make -s -C "$SOURCE" test-modules
server_stage
cp "$SOURCE/build/test/gpu_send.so" "$SERVER_ROOT/"
chmod 755 "$SERVER_ROOT/gpu_send.so"
server_start "$(gpu_line auto)" \
	"autovacuum = off" "jit = off" "fsync = off" "qsketch.device = gpu" "max_connections = 100"
hardware
cd "$SOURCE/bench"
psql -XAtq -v ON_ERROR_STOP=1 -v module="$SERVER_ROOT/gpu_send.so" -f bench-gpu-ring.sql
printf '\n| sessions | keys, millions | seconds | billions of keys a second |\n|---:|---:|---:|---:|\n'
for count in $senders; do
	send "$count"
	psql -XAtqc "SELECT format('| %s | %s | %s | %s |', count(*), round(sum(keys) / 1e6), round(took, 3), round(sum(keys) / took / 1e9, 3))
		FROM sent, LATERAL (SELECT extract(epoch FROM max(ended) - min(began)) AS took FROM sent) AS t GROUP BY took"
done
psql -XAtqc "SELECT format('GPU: %s; %s waits for slots, %s s', name, slot_waits, round(slot_wait_us / 1e6, 1)) FROM qsketch_gpu(), qsketch_stat_gpu LIMIT 1"
psql -Xqc "DO \$\$ BEGIN
	IF (SELECT sum(keys) / extract(epoch FROM max(ended) - min(began)) FROM sent) < ${LEAST:-0} * 1e9 THEN
		RAISE EXCEPTION 'fewer than ${LEAST:-0} billion keys a second';
	END IF; END \$\$" -v ON_ERROR_STOP=1
