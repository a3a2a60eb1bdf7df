# Makes the install script from the families' SQL.  It knows these commands.
# Repeat lines for each row of values, with @NAME@ replaced by the row's value:
#	--@ each NAME|NAME
#	--@ of value|value
#	lines
#	--@ end
# Replace @NAME@ by the rest of the line, in all lines below:
#	--@ let NAME value...
# Insert a file of the same folder, with @NAME@ replaced by the value:
#	--@ use FILE NAME=value...
# @VERSION@ is replaced by the version in "awk -v VERSION=...".
BEGIN { constant["@VERSION@"] = VERSION }
{ take($0) }
END { exit failed }

function take(line,    c, word, n) {
	for (c in constant) gsub(c, constant[c], line)
	n = split(line, word, " ")
	if (word[1] != "--@" && each) text[++lines] = line
	else if (word[1] != "--@") print line
	else if (word[2] == "let") constant["@" word[3] "@"] = rest(line, "--@ let [^ ]+ ")
	else if (word[2] == "use") use(word, n)
	else if (word[2] == "each") { names = split(word[3], name, "|"); rows = lines = 0; each = 1 }
	else if (word[2] == "of") row[++rows] = rest(line, "--@ of ")
	else if (word[2] == "end") repeat() }

function rest(line, command) { sub("^" command, "", line); return line }

function use(word, n,    i, pair, path, line, got) {
	path = FILENAME; sub(/[^\/]*$/, word[3], path)
	for (i = 4; i <= n; i++) { split(word[i], pair, "="); constant["@" pair[1] "@"] = pair[2] }
	while ((got = getline line < path) > 0) take(line)
	if (got < 0) { print "cannot read " path >"/dev/stderr"; failed = 1; exit 1 }
	close(path) }

function repeat(    r, l, i, value, line) {
	for (r = 1; r <= rows; r++) {
		split(row[r], value, "|")
		for (l = 1; l <= lines; l++) {
			line = text[l]
			for (i = 1; i <= names; i++) gsub("@" name[i] "@", value[i], line)
			print line } }
	each = 0 }
