# Prints a page whose tables say what each source file is: the first paragraph of its opening comment.
#
#	awk -f test/files.awk FILE... src/FILES.md
#
# The tables, one for each folder, replace what stands between the two lines of the page that mark them.
# The opening comment has the file's name, and then lines that begin with two tabs.  A file without
# such lines is reported, and the exit status is 1.

function report(text)
{
	print text | "cat >&2"
	lost = 1
}

# Adds a row for the file that was read last.  NAME.c and NAME.h share a row if they say the same.
function finish(	folder, name)
{
	if (file == "")
		return
	if (what == "")
		report(file ": no opening comment says what it is")
	folder = name = file
	sub("/[^/]*$", "", folder)
	sub(".*/", "", name)
	gsub(/  +/, " ", what)
	gsub(/[|*<]/, "\\\\&", what)
	if (rows > 0 && folder == folders[rows] && what == texts[rows] && stem(name) == stem(names[rows]))
		names[rows] = names[rows] ", " substr(name, length(stem(name)) + 1)
	else
	{
		folders[++rows] = folder
		names[rows] = name
		texts[rows] = what
	}
	file = ""
}

function stem(name)
{
	return substr(name, 1, match(name, "[.]") - 1)
}

# The rows of a folder stand in one table, also if files of a folder inside it came in between.
function print_tables(	i, j, printed)
{
	for (i = 1; i <= rows; i++)
	{
		if (folders[i] in printed)
			continue
		printed[folders[i]] = 1
		printf "\n## %s\n\n| file | what it is |\n|---|---|\n", folders[i]
		for (j = i; j <= rows; j++)
			if (folders[j] == folders[i])
				printf "| %s | %s |\n", names[j], texts[j]
	}
	printf "\n"
}

FNR == 1 {
	finish()
	is_page = FILENAME ~ /[.]md$/
	if (!is_page)
		file = FILENAME
	what = ""
	named = 0
}
is_page {
	if (/^<!-- end of what make files writes -->$/)
		ends = skipping--
	if (!skipping)
		print
	if (/^<!-- make files writes what follows -->$/) {
		print_tables()
		skipping = 1
	}
	next
}
FNR == 2 { named = $0 == " * " substr(file, match(file, "[^/]*$")) }
FNR >= 3 && named {
	if (/^ \*\t\t/)
		what = what (what == "" ? "" : " ") substr($0, 5)
	else
		named = 0
}
END {
	finish()
	if (ends != 1 || skipping)
		report("test/files.awk: no page with the two lines that mark the tables")
	close("cat >&2")
	exit lost
}
