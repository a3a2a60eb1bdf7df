# Fills tables of benchmarks fast, for scripts that have sourced server.sh.

# fill_new TABLE COLUMNS LINES: makes a table and fills it with the output of LINES, a Perl program.
# COPY FREEZE makes all pages all-visible, so the table needs no VACUUM.
fill_new() {
	psql -Xq -v ON_ERROR_STOP=1 -c BEGIN -c "CREATE TABLE $1 ($2)" \
		-c "COPY $1 FROM PROGRAM 'perl -e ''$3''' (FREEZE)" -c COMMIT
}
