package flashsale_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"example.com/flashsale/internal/check"
)

// pages returns the files for readers.
func pages(tb testing.TB) []string {
	tb.Helper()
	all, err := filepath.Glob("docs/*.md")
	check.NoError(tb, err)
	return append(all, "README.md", "README.zh-CN.md", "loadtest/README.md", "CONTRIBUTING.md", "CHANGELOG.md",
		"SECURITY.md")
}

var (
	codeBlock = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
	comment   = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// code returns the code spans of a page and the lines of its code blocks,
// without those of Go.
func code(text string) (parts []string) {
	text = codeBlock.ReplaceAllStringFunc(text, func(block string) string {
		if m := codeBlock.FindStringSubmatch(block); m[1] != "go" {
			parts = append(parts, strings.Split(m[2], "\n")...)
		}
		return ""
	})
	return append(parts, firstGroups("`([^`\n]+)`", text)...)
}

// words returns the words of all code of a page.
func words(text string) (all []string) {
	for _, part := range code(text) {
		for word := range strings.FieldsSeq(part) {
			all = append(all, strings.Trim(word, `"',;:()[]`))
		}
	}
	return all
}

var (
	// A path has a slash, or is the name of a file.
	pathForm = regexp.MustCompile(`^(\./)?\.?\w[\w.-]*(/[\w.*-]*)+$|^[\w.-]+\.(go|lua|sql|sh|js|jmx|yml|conf|md|json|mod)$`)
	// bin and out are built and not committed.
	notInRepository = regexp.MustCompile(`^(bin|out)/|^(net/http|database/sql|http/protobuf)$`)

	testForm = regexp.MustCompile(`\b(?:Test|Example|Benchmark|Fuzz)[A-Z]\w*`)

	// A setting is written in capitals. A single word counts only with a value,
	// because SQL has such words.
	settingForm = regexp.MustCompile(`^[A-Z][A-Z0-9]*(_[A-Z0-9]+)+$|^[A-Z][A-Z0-9_]+=`)
	notSettings = []string{"GET_LOCK"}
)

func paths(text string) []string {
	return slices.DeleteFunc(words(text), func(word string) bool {
		return !pathForm.MatchString(word) || notInRepository.MatchString(word)
	})
}

func makeTargets(text string) (all []string) {
	for _, part := range code(text) {
		all = append(all, firstGroups(`\bmake ([a-z][a-z0-9-]*)`, part)...)
	}
	return all
}

func testNames(text string) (all []string) {
	for _, part := range code(text) {
		all = append(all, testForm.FindAllString(part, -1)...)
	}
	return all
}

func settings(text string) (all []string) {
	for _, word := range words(text) {
		name, _, _ := strings.Cut(word, "=")
		if settingForm.MatchString(word) && !slices.Contains(notSettings, name) {
			all = append(all, name)
		}
	}
	return all
}

// Names in lower case with underscores are metrics, codes of problems, members
// of JSON, columns, and variables of MySQL.
var snakeForm = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)

// foreignNames are names that only a library or a server knows.
var foreignNames = regexp.MustCompile(`^(go_sql|db|max|probe_ssl)_`)

func snakeNames(text string) (all []string) {
	for _, word := range words(text) {
		name, _, _ := strings.Cut(word, "{")
		name, _, _ = strings.Cut(name, "=")
		if snakeForm.MatchString(name) && !foreignNames.MatchString(name) {
			all = append(all, name)
		}
	}
	return all
}

var commandForm = regexp.MustCompile(`(?:^|bin/)(api|loadtest) ([a-z]+)`)

// commands returns the commands of our programs that a page names, as in api migrate.
func commands(text string) (all []string) {
	for _, part := range code(text) {
		if m := commandForm.FindStringSubmatch(part); m != nil {
			all = append(all, m[1]+" "+m[2])
		}
	}
	return all
}

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(text string) (all []string) {
	for _, title := range firstGroups(`(?m)^#+ (.+)$`, codeBlock.ReplaceAllString(text, "")) {
		all = append(all, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, title))
	}
	return all
}

// firstGroups returns the first group of every match of pattern in text.
func firstGroups(pattern, text string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

func read(tb testing.TB, path string) string {
	tb.Helper()
	b, err := os.ReadFile(path)
	check.NoError(tb, err)
	return string(b)
}

// sources returns the text of all files of the repository that match.
func sources(tb testing.TB, match func(path string) bool) string {
	tb.Helper()
	var b strings.Builder
	walk(tb, func(path string) {
		if match(path) {
			b.WriteString("\n" + read(tb, path))
		}
	})
	return b.String()
}

// made are directories of what commands make or install: binaries, results, Node's packages,
// Maven's classes.
var made = []string{"bin", "out", "node_modules", "target"}

// walk calls visit for each file of the repository, except for what is made and hidden directories.
func walk(tb testing.TB, visit func(path string)) {
	tb.Helper()
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains(made, d.Name())) {
			return fs.SkipDir
		}
		if d.Type().IsRegular() {
			visit(path)
		}
		return nil
	})
	check.NoError(tb, err)
}
