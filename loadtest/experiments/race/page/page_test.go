package page

import (
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

// What the file loads would be missing on another machine, and what its policy
// does not name would not run.
func TestWholePageNeedsNoOtherFile(t *testing.T) {
	t.Parallel()
	document, err := Whole()
	check.NoError(t, err)
	if m := regexp.MustCompile(`<(script|link|img)[^>]* (src|href)="[^d]`).FindString(document); m != "" {
		t.Errorf("the file refers to another: %s", m)
	}
	policy := regexp.MustCompile(`content="default-src[^"]*"`).FindString(document)
	for _, block := range regexp.MustCompile(`(?s)<(?:script|style)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(document, -1) {
		if !strings.Contains(policy, hash(block[1])) {
			t.Errorf("the policy does not allow %.40q", block[1])
		}
	}
	if n := strings.Count(policy, "sha256-"); n != 4 {
		t.Errorf("the policy allows %d blocks, want two scripts and two styles", n)
	}
}
