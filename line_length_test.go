package flashsale_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// A long string reads best in one piece. Raw ones have lines of their own.
var (
	rawString  = regexp.MustCompile("(?s)`[^`]*`")
	longString = regexp.MustCompile(`"(\\.|[^"\\]){38,}"`)
)

// With tabs of four.
func TestLinesEndBeforeColumn120(t *testing.T) {
	t.Parallel()
	files := 0
	walk(t, func(path string) {
		if filepath.Ext(path) != ".go" {
			return
		}
		files++
		source := rawString.ReplaceAllStringFunc(read(t, path), func(text string) string {
			return strings.Repeat("\n", strings.Count(text, "\n"))
		})
		for i, line := range strings.Split(source, "\n") {
			width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if width >= 120 && !longString.MatchString(line) {
				t.Errorf("%s:%d reaches column %d", path, i+1, width)
			}
		}
	})
	if files < 100 {
		t.Errorf("%d files were read", files)
	}
}
