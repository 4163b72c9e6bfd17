package main

import (
	"io"
	"os"
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

// api --help is no error, needs no settings, and lists what the package comment does.
func TestHelpListsEveryCommand(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := regexp.MustCompile(`(?m)^//\t(api .*)$`).FindAllStringSubmatch(string(source), -1)
	if len(lines) < 6 {
		t.Fatalf("%d lines in the package comment", len(lines))
	}
	for _, arg := range []string{"help", "-h", "--help"} {
		text := output(t, arg)
		for _, line := range lines {
			if !strings.Contains(text, line[1]) {
				t.Errorf("api %s lacks %q", arg, line[1])
			}
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
