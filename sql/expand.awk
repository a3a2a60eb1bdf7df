# Makes the install script from the families' SQL.  It knows three commands.
# Repeat lines for each value, with @NAME@ replaced by the value:
#	--@ each NAME value...
#	lines
#	--@ end
# Replace @NAME@ by the rest of the line, in all lines below:
#	--@ let NAME value...
# Insert a file of the same folder, with @NAME@ replaced by the value:
#	--@ use FILE NAME=value...
# @VERSION@ is replaced by the version in "awk -v VERSION=...".
BEGIN { constant["@VERSION@"] = VERSION }
/^--@ use / { path = FILENAME; sub(/[^\/]*$/, $3, path)
	while ((got = getline line < path) > 0) {
		for (i = 4; i <= NF; i++) { split($i, word, "="); gsub("@" word[1] "@", word[2], line) }
		print line }
	if (got < 0) { print "cannot read " path >"/dev/stderr"; exit 1 }
	close(path); next }
/^--@ let / { name = "@" $3 "@"; sub(/^--@ let [^ ]+ /, ""); constant[name] = $0
	next }
/^--@ each / { name = "@" $3 "@"; n = 0; lines = 0
	for (c in constant) gsub(c, constant[c])
	for (i = 4; i <= NF; i++) value[++n] = $i
	next }
/^--@ end/ { for (v = 1; v <= n; v++)
		for (l = 1; l <= lines; l++) { line = text[l]; gsub(name, value[v], line); print line }
	n = 0; next }
{ for (c in constant) gsub(c, constant[c]) }
n { text[++lines] = $0; next }
{ print }
