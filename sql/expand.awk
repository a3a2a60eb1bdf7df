# Makes the install script from the families' SQL: repeats the lines between
#	--@ each NAME value...
#	--@ end
# for each value, with @NAME@ replaced by it, and replaces @NAME@ by the value in
# all lines that follow
#	--@ let NAME value
/^--@ let / { constant["@" $3 "@"] = $4
	next }
/^--@ each / { name = "@" $3 "@"; n = 0; lines = 0
	for (i = 4; i <= NF; i++) value[++n] = $i
	next }
/^--@ end/ { for (v = 1; v <= n; v++)
		for (l = 1; l <= lines; l++) { line = text[l]; gsub(name, value[v], line); print line }
	n = 0; next }
{ for (c in constant) gsub(c, constant[c]) }
n { text[++lines] = $0; next }
{ print }
