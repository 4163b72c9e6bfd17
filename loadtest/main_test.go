package main

import "testing"

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
