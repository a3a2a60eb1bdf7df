# Fills tables of benchmarks fast, for scripts that have sourced server.sh.

# fill_new TABLE COLUMNS LINES: makes a table and fills it with the output of a Perl program.  All pages
# are all-visible without VACUUM, because the table is new.
fill_new() {
	psql -Xq -v ON_ERROR_STOP=1 -c BEGIN -c "CREATE TABLE $1 ($2)" \
		-c "COPY $1 FROM PROGRAM 'perl -e ''$3''' (FREEZE)" -c COMMIT
}
