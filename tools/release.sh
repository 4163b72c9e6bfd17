#!/bin/sh
# Builds the binaries of a release into a directory, with their checksums. The same
# commit and version of Go give the same binaries: tools/release.sh 1.2.3 out/release
set -eu
cd "$(dirname "$0")/.."
[ $# -eq 2 ] || { echo "usage: $0 VERSION DIRECTORY" >&2 && exit 2; }
version=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
content=$(mktemp -d)
trap 'rm -rf "$content"' EXIT
committed=$(git show --no-patch --format=%ct)

tools/notices.sh >"$content/third_party_notices.txt"
for platform in linux/amd64 linux/arm64 darwin/arm64; do
	CGO_ENABLED=0 GOOS=${platform%/*} GOARCH=${platform#*/} go build -trimpath -buildvcs=false \
		-ldflags="-s -w -X main.version=$version" -o "$content/api" ./cmd/api
	tar --create --sort=name --mtime="@$committed" --owner=0 --group=0 --numeric-owner --mode=go-w \
		--directory "$content" api third_party_notices.txt |
		gzip --no-name >"$out/flashsale_${version}_${platform%/*}_${platform#*/}.tar.gz"
done
cd "$out" && sha256sum ./*.tar.gz >SHA256SUMS
