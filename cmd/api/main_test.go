package main

import (
	"io"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

func output(t *testing.T, args ...string) string {
	t.Helper()
	var b strings.Builder
	if err := run(t.Context(), args, func(string) string { return "" }, &b, io.Discard); err != nil {
		t.Fatalf("api %v: %v", args, err)
	}
	return b.String()
}

// Help is no error, and needs no settings.
func TestHelpListsEveryCommand(t *testing.T) {
	t.Parallel()
	source := readFile(t, "main.go")
	commands := regexp.MustCompile(`(?m)^\tcase "(\w+)"`).FindAllStringSubmatch(source, -1)
	if len(commands) < 6 {
		t.Fatalf("%d commands", len(commands))
	}
	for _, command := range commands {
		if !regexp.MustCompile(`(?m)^api \[?` + command[1] + `\b`).MatchString(usage) {
			t.Errorf("the usage lacks %q", command[1])
		}
	}
	for _, args := range []string{"help", "-h", "--help", "token --help", "migrate -h", "serve --help"} {
		if text := output(t, strings.Fields(args)...); text != usage {
			t.Errorf("api %s prints %q", args, text)
		}
	}
}

func TestVersionNamesWhatItWasBuiltFrom(t *testing.T) {
	t.Parallel()
	if text := output(t, "version"); !strings.HasPrefix(text, "api "+version+", commit ") ||
		!strings.Contains(text, runtime.Version()) {
		t.Errorf("%q", text)
	}
}
