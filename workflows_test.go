package flashsale_test

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A tag of an action can be moved to other code; the digest of a commit cannot.
func TestActionsArePinnedByDigest(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(files) < 3 {
		t.Fatalf("workflows %q: %v", files, err)
	}
	pinned := regexp.MustCompile(`^[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$`)
	versions := map[string]string{} // one of each action
	for _, file := range files {
		for _, used := range firstGroups(`(?m)\buses: *(.*)$`, read(t, file)) {
			if !pinned.MatchString(used) {
				t.Errorf("%s uses %s", file, used)
				continue
			}
			action, _, _ := strings.Cut(used, "@")
			if other := versions[action]; other != "" && other != used {
				t.Errorf("%s is used as %s and as %s", action, other, used)
			}
			versions[action] = used
		}
	}
	if len(versions) < 5 {
		t.Errorf("%d actions", len(versions))
	}
}

// Whatever a README names runs where nothing is installed.
func TestEveryTargetRunsOnABareMachine(t *testing.T) {
	t.Parallel()
	phony := firstGroups(`(?m)^\.PHONY:(.*)$`, read(t, "Makefile"))[0]
	want := slices.DeleteFunc(strings.Fields(phony), func(target string) bool {
		return slices.Contains([]string{"help", "install", "go"}, target)
	})
	got := firstGroups(`(?m)^ +- ([a-z-]+)$`, read(t, ".github/workflows/bare.yml"))
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("bare.yml runs %q, the Makefile has %q", got, want)
	}
}
