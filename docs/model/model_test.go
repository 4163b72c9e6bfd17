// Package model_test runs the models of this directory through Spin. A model is
// right if it has no error as it is, and an error without any of its clauses.
package model_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

var (
	update    = flag.Bool("update", false, "write counter-examples.md")
	wanted    = os.Getenv("MODEL") != ""
	clauses   = regexp.MustCompile(`WITHOUT_[A-Z_]+[A-Z]`)
	steps     = regexp.MustCompile(`(?m)^(A|B|(?:clock of|instance) [aAbB]|clock|server|resource|node|network|database|audit): .*$`)
	documents = regexp.MustCompile("(?s)<!-- model: ([a-z]+) (WITHOUT_[A-Z_]+) -->\n```text\n(.*?)```")
)

func TestModelsKeepTheirPromises(t *testing.T) {
	requireSpin(t)
	for _, name := range models(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if trail, found := verify(t, name, "", "-O2"); found {
				t.Errorf("a promise is broken:\n%s", trail)
			}
		})
	}
}

func TestEveryClauseIsNeeded(t *testing.T) {
	requireSpin(t)
	for _, name := range models(t) {
		for _, clause := range clausesOf(t, name) {
			t.Run(name+"/"+clause, func(t *testing.T) {
				t.Parallel()
				trail, found := verify(t, name, clause, "-O1", "-DBFS")
				if !found {
					t.Fatal("no promise is broken without this clause")
				}
				t.Logf("the shortest counter-example:\n%s", trail)
			})
		}
	}
}

// The counter-examples in counter-examples.md are those that Spin finds.
func TestDocumentedCounterExamples(t *testing.T) {
	requireSpin(t)
	const path = "counter-examples.md"
	text, err := os.ReadFile(path)
	check.NoError(t, err)
	page := string(text)
	examples := documents.FindAllStringSubmatch(page, -1)
	if len(examples) < 5 {
		t.Fatalf("%s has only %d counter-examples", path, len(examples))
	}
	for _, example := range examples {
		block, name, clause, documented := example[0], example[1], example[2], example[3]
		trail, _ := verify(t, name, clause, "-O1", "-DBFS")
		if trail == documented {
			continue
		}
		if !*update {
			t.Errorf("%s: %s %s has\n%swant\n%s", path, name, clause, documented, trail)
		}
		page = strings.Replace(page, block, strings.TrimSuffix(block, documented+"```")+trail+"```", 1)
	}
	if *update {
		check.NoError(t, os.WriteFile(path, []byte(page), 0o644))
	}
}

func requireSpin(t *testing.T) {
	t.Helper()
	if !wanted {
		t.Skip("make model runs this test; it needs Spin and a C compiler")
	}
}

func models(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob("*.pml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no models: %v", err)
	}
	for _, file := range files {
		names = append(names, strings.TrimSuffix(file, ".pml"))
	}
	return names
}

func clausesOf(t *testing.T, name string) []string {
	t.Helper()
	text, err := os.ReadFile(name + ".pml")
	check.NoError(t, err)
	found := clauses.FindAllString(string(text), -1)
	if len(found) == 0 {
		t.Fatalf("%s has no clause", name)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// verify visits every state of a model without clause. It returns the steps that
// lead to the error that it has found, if any; with -DBFS no sequence is shorter.
func verify(t *testing.T, name, clause string, options ...string) (trail string, found bool) {
	t.Helper()
	model, err := os.ReadFile(name + ".pml")
	check.NoError(t, err)
	dir := t.TempDir() // Spin writes its files beside the model
	check.NoError(t, os.WriteFile(filepath.Join(dir, "model.pml"), model, 0o644))
	define := "-D" + clause
	if clause == "" {
		define = "-DCOMPLETE"
	}
	run(t, dir, "spin", "-a", define, "model.pml")
	run(t, dir, "gcc", slices.Concat(options, []string{"-w", "-DSAFETY", "-o", "pan", "pan.c"})...)
	result := run(t, dir, "./pan", "-m100000", "-w22")
	switch {
	case strings.Contains(result, "errors: 0") && !strings.Contains(result, "search was truncated") &&
		!strings.Contains(result, "max search depth too small"):
		return "", false
	case !strings.Contains(result, "errors: 1"):
		t.Fatalf("the search has not ended:\n%s", result)
	}
	return strings.Join(steps.FindAllString(run(t, dir, "spin", "-t", "-T", "-B", define, "model.pml"), -1),
		"\n") + "\n", true
}

func run(t *testing.T, dir, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	_, exited := errors.AsType[*exec.ExitError](err)
	if err != nil && !(exited && program == "spin" && args[0] == "-t") {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out)
}
