//go:build mutants

package flashsale_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// The control: without a defect, the tests that kill the mutants pass.
func TestWithoutADefectTheTestsPass(t *testing.T) {
	tests := map[string][]string{}
	for _, m := range mutants {
		tests[m.pkg] = append(tests[m.pkg], m.tests)
	}
	for pkg, names := range tests {
		out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-timeout=10m",
			"-run", strings.Join(names, "|"), pkg).CombinedOutput()
		if err != nil || !bytes.Contains(out, []byte("ok")) {
			t.Errorf("%s: %v\n%s", pkg, err, out)
		}
	}
}

// Each mutant must die: what the tests do not see, they do not keep.
func TestMutantsDie(t *testing.T) {
	for _, m := range mutants {
		t.Run(strings.ReplaceAll(m.defect, " ", "_"), func(t *testing.T) {
			dir := t.TempDir()
			changed, overlay := filepath.Join(dir, "changed"), filepath.Join(dir, "overlay.json")
			original, _ := filepath.Abs(m.file)
			replace, _ := json.Marshal(map[string]any{"Replace": map[string]string{original: changed}})
			for file, content := range map[string][]byte{
				changed: []byte(strings.Replace(read(t, m.file), m.text, m.wrong, 1)), overlay: replace,
			} {
				check.NoError(t, os.WriteFile(file, content, 0o600))
			}
			out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "-failfast", "-timeout=5m",
				"-overlay", overlay, "-run", m.tests, m.pkg).CombinedOutput()
			if err == nil || !bytes.Contains(out, []byte("--- FAIL")) {
				t.Errorf("it lives: %v\n%s", err, out)
			}
			if bytes.Contains(out, []byte("(42S22)")) || bytes.Contains(out, []byte("Error 1064")) {
				t.Errorf("it dies of its own SQL:\n%s", out)
			}
		})
	}
}
