package flashsale_test

import (
	"path/filepath"
	"regexp"
	"testing"
)

// A tag of an action can be moved to other code; the digest of a commit cannot.
func TestActionsArePinnedByDigest(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("workflows %q: %v", files, err)
	}
	uses := regexp.MustCompile(`(?m)\buses: *(.*)$`)
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	versions := map[string]string{} // one of each action
	for _, file := range files {
		for _, m := range uses.FindAllStringSubmatch(read(t, file), -1) {
			if !pinned.MatchString(m[1]) {
				t.Errorf("%s uses %s", file, m[1])
				continue
			}
			action := regexp.MustCompile(`^[^@]+`).FindString(m[1])
			if other := versions[action]; other != "" && other != m[1] {
				t.Errorf("%s is used as %s and as %s", action, other, m[1])
			}
			versions[action] = m[1]
		}
	}
	if len(versions) < 5 {
		t.Errorf("%d actions", len(versions))
	}
}
