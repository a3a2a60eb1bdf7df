# Makes the install script from the families' SQL: repeats the lines between
#	--@ each NAME value...
#	--@ end
# for each value, with @NAME@ replaced by it, and replaces @NAME@ by the value, or
# all of them, in all lines that follow
#	--@ let NAME value...
# and puts in a file of the same folder, with @NAME@ replaced by the value, for
#	--@ use FILE NAME=value...
# @VERSION@ is the version that "awk -v VERSION=..." names.
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
