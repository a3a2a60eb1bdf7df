# Prints what each source file is: the first paragraph of its opening comment.
#
#	awk -f test/files.awk FILE...
#
# The opening comment has the file's name, and then lines that begin with two tabs.  A file without
# such lines is reported, and the exit status is 1.

function finish()
{
	if (file == "")
		return
	if (what == "")
		lost = 1
	print file ": " (what == "" ? "no opening comment says what it is" : what)
}

FNR == 1 {
	finish()
	file = FILENAME
	what = ""
	named = 0
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
	exit lost
}
