package flashsale_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// The tests in this file check what the documentation says against the
// repository. They look at links and at code, that is at code spans and code
// blocks.

func TestWhatPagesNameExists(t *testing.T) {
	t.Parallel()
	makefile, tests := "\n"+read(t, "Makefile"), sources(t, isTest)
	source := sources(t, func(path string) bool { return !isTest(path) && filepath.Ext(path) != ".md" })
	words := map[string]bool{} // a part of a setting's name is no setting
	apart := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for word := range strings.FieldsFuncSeq(source, apart) {
		words[word] = true
	}
	kinds := map[string]struct {
		named  func(text string) []string
		exists func(name string) bool
	}{
		"path": {paths, func(path string) bool {
			found, err := filepath.Glob(path)
			return err == nil && len(found) > 0
		}},
		"make target": {makeTargets, func(name string) bool { return strings.Contains(makefile, "\n"+name+":") }},
		"test":        {testNames, func(name string) bool { return strings.Contains(tests, "\nfunc "+name+"(") }},
		"setting": {settings, func(name string) bool {
			return words[strings.TrimSuffix(name, "_FILE")] || name == "SSL_CERT_FILE" // crypto/x509 reads it
		}},
		"name": {snakeNames, func(name string) bool { return strings.Contains(source, name) }},
		"command": {commands, func(command string) bool {
			program, name, _ := strings.Cut(command, " ")
			return strings.Contains(read(t, commandFiles[program]), `"`+name+`"`)
		}},
	}
	for _, page := range pages(t) {
		text := read(t, page)
		for kind, k := range kinds {
			for _, name := range k.named(text) {
				if !k.exists(name) {
					t.Errorf("%s: there is no %s %s", page, kind, name)
				}
			}
		}
	}
}

func isTest(path string) bool { return strings.HasSuffix(path, "_test.go") }

// commandFiles are the files that list the commands of our programs.
var commandFiles = map[string]string{"api": "cmd/api/main.go", "loadtest": "loadtest/main.go"}

func TestDocumentedLinksResolve(t *testing.T) {
	t.Parallel()
	for _, page := range pages(t) {
		text := codeBlock.ReplaceAllString(read(t, page), "")
		for _, target := range firstGroups(`(?:\]\(|src(?:set)?=")([^)"\s]+)`, text) { // of a picture, too
			if !strings.Contains(target, "://") {
				checkLink(t, page, target)
			}
		}
	}
}

func checkLink(t *testing.T, page, target string) {
	t.Helper()
	file, anchor, hasAnchor := strings.Cut(target, "#")
	path := filepath.Join(filepath.Dir(page), file)
	if file == "" {
		path = page
	}
	_, err := os.Stat(path)
	switch {
	case err != nil:
		t.Errorf("%s: link %s: %v", page, target, err)
	case hasAnchor && !slices.Contains(anchors(read(t, path)), anchor):
		t.Errorf("%s: link %s: no heading has this anchor", page, target)
	}
}

// Both READMEs send readers to the same files, targets, tests and figures.
func TestReadmesSayTheSame(t *testing.T) {
	t.Parallel()
	english, chinese := facts(read(t, "README.md")), facts(read(t, "README.zh-CN.md"))
	for _, fact := range english {
		if !slices.Contains(chinese, fact) {
			t.Errorf("only README.md has %s", fact)
		}
	}
	for _, fact := range chinese {
		if !slices.Contains(english, fact) {
			t.Errorf("only README.zh-CN.md has %s", fact)
		}
	}
}

// facts returns what a page says that does not depend on the language.
func facts(text string) []string {
	return slices.Concat(paths(text), makeTargets(text), testNames(text), settings(text),
		comment.FindAllString(text, -1))
}

// longest is how many lines a page may have.
var longest = map[string]int{"README.md": 150, "README.zh-CN.md": 150, "docs/operations.md": 250, "CHANGELOG.md": 60}

// mostWords is how many words the READMEs and docs may have together, as wc counts them.
const mostWords = 30_000

func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	for page, lines := range longest {
		if n := strings.Count(read(t, page), "\n"); n > lines {
			t.Errorf("%s has %d lines, want %d at most", page, n, lines)
		}
	}
	words := 0
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") || strings.HasPrefix(page, "README") {
			words += len(strings.Fields(read(t, page)))
		}
	}
	if words > mostWords {
		t.Errorf("the READMEs and docs have %d words, want %d at most: say nothing twice", words, mostWords)
	}
}

// The annotation runbook of an alert is a path and an anchor.
func TestEveryAlertHasARunbook(t *testing.T) {
	t.Parallel()
	rules := read(t, "deploy/observe/rules.yml")
	alerts := strings.Count(rules, "- alert: ")
	runbooks := firstGroups(`runbook: (\S+#\S+)`, rules)
	if len(runbooks) != alerts || alerts == 0 {
		t.Errorf("%d alerts have %d runbooks", alerts, len(runbooks))
	}
	for _, target := range runbooks {
		checkLink(t, "README.md", target)
	}
}
