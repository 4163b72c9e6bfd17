#!/bin/sh
# Prints the licences and notices of all that is linked into the service: of Go and
# of every module. Fails if one has none.
set -eu
cd "$(dirname "$0")/.."

# notices NAME DIR prints the files of a module.
notices() {
	found=$(find "$2" -maxdepth 1 -type f \( -iname 'license*' -o -iname 'licence*' -o -iname 'copying*' -o -iname 'notice*' \) | sort)
	[ -n "$found" ] || { echo "$1 has no licence" >&2 && exit 1; }
	for file in $found; do
		printf '\n==== %s: %s\n\n' "$1" "${file##*/}"
		cat "$file"
	done
}

echo "The service api contains these programs of others, under their own terms."
notices "Go $(go env GOVERSION)" "$(go env GOROOT)"
modules=$(go list -deps -f '{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}' ./cmd/api | sort -u)
echo "$modules" | while read -r path version dir; do
	notices "$path $version" "$dir"
done

echo
echo "swgui contains Swagger UI, Copyright SmartBear Software Inc., under the Apache License 2.0; its text is above."
