# Makes the install script from the families' SQL: repeats the lines between
#	--@ each NAME value...
#	--@ end
# for each value, with @NAME@ replaced by it.
/^--@ each / { name = "@" $3 "@"; n = 0; lines = 0
	for (i = 4; i <= NF; i++) value[++n] = $i
	next }
/^--@ end/ { for (v = 1; v <= n; v++)
		for (l = 1; l <= lines; l++) { line = text[l]; gsub(name, value[v], line); print line }
	n = 0; next }
n { text[++lines] = $0; next }
{ print }
