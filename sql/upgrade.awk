# Makes the upgrade script from one version's install script to another's:
#	awk -f upgrade.awk OLD NEW
#
# Objects that only the new script has are created, in its order. An object that both
# scripts have, but declare differently, is replaced if PostgreSQL can do that, so that
# views which use it survive. Otherwise it is dropped and created. Objects that only
# the old script has are dropped. Nothing is dropped CASCADE: PostgreSQL names the
# views that are in the way. Only functions, aggregates and views can be changed here;
# the build fails if another kind of object was changed.
#
# A function that the script calls has a unique name during the call, see qsketch.sql.
# The two statements that rename it are moved together with the call.
#
# Functions, aggregates and views have a COMMENT right after they are created. It
# gives their identities in the form that DROP wants. Quotes of all kinds
# may hold semicolons; backslash escapes and comments between /* and */ are not
# understood.

FNR == 1 { side++; count[side] = 0 }
/^\\/ && quote == "" { next }
{ scan($0) }
END {
	if (blank != 1 || quote != "") fail("the last statement is not complete: " words)
	describe(1); describe(2); compare(); write() }

function fail(message) { print "upgrade.awk: " message >"/dev/stderr"; exit 1 }

# Splits lines into statements: text as written, words for comparison. The words
# have no comments, and outside of quotes only single spaces.
function scan(line,    token) {
	while (line != "") {
		if (quote != "") {
			token = index(line, quote)
			if (!token) { text = text line; words = words line; break }
			token += length(quote) - 1
			text = text substr(line, 1, token); words = words substr(line, 1, token)
			line = substr(line, token + 1); quote = ""
			continue }
		if (!match(line, /--|['";]|\$[A-Za-z_]*\$/)) { plain(line); break }
		token = substr(line, RSTART, RLENGTH)
		plain(substr(line, 1, RSTART - 1)); line = substr(line, RSTART + RLENGTH)
		if (token == "--") break
		if (token == ";") { finish(); continue }
		text = text token; words = words token; quote = token; blank = 0 }
	if (quote != "") { text = text "\n"; words = words "\n" } else plain("\n") }

function plain(piece) {
	if (text == "") sub(/^[ \t\n]+/, "", piece)
	text = text piece
	gsub(/[ \t\n]+/, " ", piece)
	if (words == "" || words ~ / $/) sub(/^ /, "", piece)
	words = words piece
	blank = words == "" }

function finish() {
	sub(/ $/, "", words)
	statement[side, ++count[side]] = text
	key[side, count[side]] = words
	has[side, words] = 1
	text = words = ""; blank = 1 }

# The identities of functions, aggregates and views: "FUNCTION f(integer)".
function describe(s,    i, kind, comment, name, part) {
	for (i = 1; i <= count[s]; i++) {
		if (key[s, i] !~ /^CREATE (FUNCTION|AGGREGATE|VIEW) /) continue
		split(key[s, i], part, " "); kind = part[2]
		name = part[3]; sub(/\(.*/, "", name)
		comment = key[s, i + 1]
		if (!match(comment, / IS '/) || index(comment, "COMMENT ON " kind " " name) != 1)
			fail("no description follows: " key[s, i])
		identity[s, i] = substr(comment, 12, RSTART - 12)
		place[s, identity[s, i]] = i } }

# The part of a declaration that CREATE OR REPLACE FUNCTION cannot change.
function signature(words) {
	sub(/ AS '.*/, "", words)
	gsub(/ DEFAULT [^,)]+/, "", words)
	return words }

function replaceable(old, new) {
	return old ~ /^CREATE AGGREGATE / || (old ~ /^CREATE FUNCTION / && signature(old) == signature(new)) }

# Whether a statement uses the name of something that is dropped.
function mentions(words,    name) {
	for (name in dropped_name)
		if ((words " ") ~ ("[^A-Za-z0-9_]" name "[^A-Za-z0-9_]")) return 1
	return 0 }

function compare(    i, id, new, part) {
	for (i = 1; i <= count[1]; i++) {
		id = identity[1, i]
		if (id == "") {
			if (!((2, key[1, i]) in has) && key[1, i] !~ /^(COMMENT|SELECT|ALTER) / && !mentions(key[1, i]))
				fail("cannot be changed or dropped by an upgrade: " key[1, i])
			continue }
		new = ((2, id) in place) ? key[2, place[2, id]] : ""
		if (new == key[1, i] && !(id ~ /^VIEW / && mentions(new))) continue
		if (new != key[1, i] && new != "" && replaceable(key[1, i], new)) { replaced[id] = 1; continue }
		dropped[id] = 1
		split(id, part, /[ (]/); dropped_name[part[2]] = 1
		drop[++drops] = id } }

function write(    i, late) {
	print "-- complain if script is sourced in psql, rather than via ALTER EXTENSION"
	print "\\echo Use \"ALTER EXTENSION qsketch UPDATE\" to load this file. \\quit"
	# the new script's first SELECT asks whether the library fits: drop nothing before
	for (i = 1; i <= count[2] && key[2, i] !~ /^SELECT /; i++) ;
	late = i < count[2] ? i : 0
	while (late && key[2, late + 1] ~ /^ALTER /) late++
	for (i = 1; i <= late; i++) write_statement(i)
	for (i = drops; i > 0; i--) print "\nDROP " drop[i] ";"
	for (i = late + 1; i <= count[2]; i++) write_statement(i) }

# The statement that calls the function that statement i renames: the one after the
# first renaming, or before the second one. If that is the COMMENT of a view, the
# view calls the function.
function caller(i) {
	if (key[2, i] !~ /^ALTER FUNCTION "/) return i + 1
	return key[2, i - 1] ~ /^COMMENT / ? i - 2 : i - 1 }

function is_written(i,    id) {
	id = identity[2, i]
	if (key[2, i] ~ /^ALTER /) return is_written(caller(i))
	if (id in replaced || id in dropped || !((1, key[2, i]) in has)) return 1
	return key[2, i] ~ /^(COMMENT|GRANT) / && mentions(key[2, i]) }

function write_statement(i,    words) {
	if (!is_written(i)) return
	words = statement[2, i]
	if (identity[2, i] in replaced) sub(/^CREATE/, "CREATE OR REPLACE", words)
	print "\n" words ";" }
