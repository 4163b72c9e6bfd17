package page

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// The file must hold the race as it is, even if a value of it ends a script.
func TestWriteFileHoldsTheRace(t *testing.T) {
	t.Parallel()
	const race = `{"version":1,"error":"</script><script>alert(1)</script>"}`
	var file bytes.Buffer
	if err := WriteFile(&file, []byte(race)); err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(file.String(), savedBegin)
	saved, _, _ := strings.Cut(rest, savedEnd)
	var got map[string]any
	if err := json.Unmarshal([]byte(saved), &got); err != nil || got["error"] != "</script><script>alert(1)</script>" {
		t.Errorf("the file holds %q: %v", saved, err)
	}
}

// What the file loads would be missing on another machine, and what its policy
// does not name would not run.
func TestWriteFileNeedsNoOtherFile(t *testing.T) {
	t.Parallel()
	var file bytes.Buffer
	if err := WriteFile(&file, []byte("null")); err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`<(script|link|img)[^>]* (src|href)="[^d]`).FindString(file.String()); m != "" {
		t.Errorf("the file refers to another: %s", m)
	}
	policy := regexp.MustCompile(`content="default-src[^"]*"`).FindString(file.String())
	for _, block := range regexp.MustCompile(`(?s)<(?:script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(file.String(), -1) {
		if !strings.Contains(policy, hash(block[1])) {
			t.Errorf("the policy does not allow %.40q", block[1])
		}
	}
	if n := strings.Count(policy, "sha256-"); n != 4 {
		t.Errorf("the policy allows %d blocks, want two scripts and two styles", n)
	}
}
