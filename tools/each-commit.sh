#!/bin/sh
# Builds and vets each commit of the range $1, oldest first, in a temporary
# worktree. Prints one line a commit and exits with 1 at the first that fails. The
# default range is what origin/main does not have, or the last ten commits. The flag
# -trimpath lets the next run use what this one has compiled.
set -eu
range=${1:-}
if [ -n "$range" ]; then
	commits=$(git rev-list --reverse "$range")
else
	commits=$(git rev-list --reverse origin/main..HEAD 2>/dev/null || true)
	[ -n "$commits" ] || commits=$(git rev-list --reverse --max-count=10 HEAD)
fi
dir=$(mktemp -d)
trap 'git worktree remove --force "$dir/tree" 2>/dev/null; rm -rf "$dir"' EXIT
trap 'exit 1' INT TERM
git worktree add --quiet --detach "$dir/tree" HEAD
for commit in $commits; do
	git -C "$dir/tree" checkout --quiet --detach "$commit"
	if (cd "$dir/tree" && go build -trimpath ./... && go vet -trimpath ./...) >"$dir/output" 2>&1; then verdict=ok; else verdict=FAIL; fi
	echo "$verdict	$(git log -1 --format='%h %s' "$commit")"
	if [ $verdict = FAIL ]; then
		cat "$dir/output"
		exit 1
	fi
done
