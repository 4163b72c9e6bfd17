package flashsale_test

import (
	"bytes"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Lines end before column lineEnd, with tabs of four. Only a line with a string
// of at least longString bytes, which reads best in one piece, may be longer.
const (
	lineEnd    = 120
	longString = 40
)

func TestLinesEndBeforeColumn120(t *testing.T) {
	t.Parallel()
	files := 0
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{"bin", "out", "node_modules"}, entry.Name()) {
			return fs.SkipDir
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		files++
		source, err := os.ReadFile(path)
		for _, line := range tooLong(source) {
			t.Errorf("%s:%d reaches column %d", path, line, lineEnd)
		}
		return err
	})
	if err != nil || files < 100 {
		t.Fatalf("%d files were read: %v", files, err)
	}
}

// tooLong returns the numbers of the lines that reach column lineEnd without a
// long string.
func tooLong(source []byte) (numbers []int) {
	for i, line := range bytes.Split(source, []byte("\n")) {
		if len([]rune(strings.ReplaceAll(string(line), "\t", "    "))) >= lineEnd {
			numbers = append(numbers, i+1)
		}
	}
	exempt := linesOfLongStrings(source)
	return slices.DeleteFunc(numbers, func(n int) bool { return exempt[n] })
}

// linesOfLongStrings returns the lines that a long string is on.
func linesOfLongStrings(source []byte) map[int]bool {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(source))
	s.Init(file, source, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return lines
		}
		if tok != token.STRING || len(text) < longString {
			continue
		}
		for n := range 1 + strings.Count(text, "\n") {
			lines[file.Line(pos)+n] = true
		}
	}
}
