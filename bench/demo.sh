#!/usr/bin/env bash
#
# The demonstration: "make demo".  Builds the extension, starts a throw-away server, and shows
# sketches of real data and of ten million generated events.  The real data are the dependencies
# among the Debian packages in this machine's package lists.  The queries are in demo.sql.
# Everything is removed at the end.
set -eu -o pipefail
. "$(dirname "$0")/../test/server.sh"

# Prints the package lists, however they are compressed; without lists, the installed packages.
package_descriptions() {
	local lists=(/var/lib/apt/lists/*_Packages*)
	if [ -f "${lists[0]}" ] && [ -x /usr/lib/apt/apt-helper ]; then
		/usr/lib/apt/apt-helper cat-file "${lists[@]}"
	else
		cat /var/lib/dpkg/status
	fi
}

# Reads descriptions, and writes FOLDER/packages (name, section, maintainer) and FOLDER/edges
# (package, section, needed package) in the format of COPY.  If a package is described several
# times, the first description counts.
parse_descriptions() {
	awk -v packages="$1/packages" -v edges="$1/edges" -v OFS='\t' '
		/^[A-Za-z-]+:/ {
			field = $1
			value[field] = substr($0, length(field) + 2)
		}
		/^ / { value[field] = value[field] $0 }
		/^$/ { flush() }
		END { flush() }

		function flush(name, section, maintainer, needs, n, i) {
			name = value["Package:"]
			gsub(/ /, "", name)
			if (name != "" && !seen[name]++) {
				section = value["Section:"]
				gsub(/ |.*\//, "", section)
				maintainer = value["Maintainer:"]
				gsub(/\\/, "\\\\", maintainer)
				print name, section, maintainer >packages
				n = split(value["Pre-Depends:"] "," value["Depends:"], needs, /[,|]/)
				for (i = 1; i <= n; i++) {
					gsub(/\([^)]*\)|:[a-z0-9]+| /, "", needs[i])
					if (needs[i] != "")
						print name, section, needs[i] >edges
				}
			}
			split("", value)
		}'
}

load_packages() {
	local folder=$SERVER_ROOT/packages
	mkdir "$folder"
	package_descriptions | parse_descriptions "$folder"
	psql -Xq -v ON_ERROR_STOP=1 \
		-c 'CREATE TABLE packages (name text, section text, maintainer text)' \
		-c 'CREATE TABLE edges (package text, section text, needs text)' \
		-c "\\copy packages from '$folder/packages'" \
		-c "\\copy edges from '$folder/edges'"
}

echo "Building the extension ..."
server_build build
echo "Starting a throw-away PostgreSQL server ..."
server_stage
server_start "shared_buffers = 1GB"
echo "Reading this machine's Debian package lists ..."
load_packages
cd "$SOURCE/bench"
psql -Xq -v ON_ERROR_STOP=1 -f demo.sql
echo "The server and its data are removed now."
