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

// Whatever a README names runs where nothing is installed.
func TestEveryTargetRunsOnABareMachine(t *testing.T) {
	t.Parallel()
	phony := regexp.MustCompile(`(?m)^\.PHONY:(.*)$`).FindStringSubmatch(read(t, "Makefile"))[1]
	want := slices.DeleteFunc(strings.Fields(phony), func(target string) bool {
		return slices.Contains([]string{"help", "install", "go"}, target)
	})
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^ +- ([a-z-]+)$`).FindAllStringSubmatch(
		read(t, ".github/workflows/bare.yml"), -1) {
		got = append(got, m[1])
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) < 20 {
		t.Errorf("bare.yml runs %q, the Makefile has %q", got, want)
	}
}
