package main

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandsAreFoundByName(t *testing.T) {
	t.Parallel()
	for _, c := range commands {
		if got, ok := find([]string{c.name}); !ok || got.name != c.name || c.help == "" {
			t.Errorf("%s: found %q, %v; help %q", c.name, got.name, ok, c.help)
		}
	}
	for _, args := range [][]string{nil, {"help"}} {
		if got, ok := find(args); !ok || got.name != "help" {
			t.Errorf("%q: found %q, %v; want help", args, got.name, ok)
		}
	}
	for _, args := range [][]string{{"dance"}, {"demo", "soak"}, {""}} {
		if got, ok := find(args); ok {
			t.Errorf("%q: found %q, want none", args, got.name)
		}
	}
}

// A newcomer calls bin/loadtest from anywhere, and bench starts it in its own directory.
func TestCommandsSayThatTheyNeedTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, c := range commands {
		err := inRepository(c)
		named := err != nil && strings.Contains(err.Error(), "root of the repository")
		if named == slices.Contains(anywhere, c.name) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if help, _ := find(nil); inRepository(help) != nil {
		t.Error("help needs the repository")
	}
}

func TestHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	help(&b)
	for line := range strings.Lines(b.String()) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 80 {
			t.Errorf("%d columns: %s", n, line)
		}
	}
}
