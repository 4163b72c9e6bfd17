package flashsale_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The tests in this file check what the documentation says against the
// repository. They look at links and at code, that is at code spans and code
// blocks.

// eachPage runs check for the text of each page.
func eachPage(t *testing.T, check func(t *testing.T, page, text string)) {
	t.Parallel()
	for _, page := range pages(t) {
		t.Run(page, func(t *testing.T) { check(t, page, read(t, page)) })
	}
}

func TestDocumentedPathsExist(t *testing.T) {
	eachPage(t, func(t *testing.T, _, text string) {
		for _, path := range paths(text) {
			if found, err := filepath.Glob(path); err != nil || len(found) == 0 {
				t.Errorf("there is no %s", path)
			}
		}
	})
}

func TestDocumentedMakeTargetsExist(t *testing.T) {
	makefile := "\n" + read(t, "Makefile")
	eachPage(t, func(t *testing.T, _, text string) {
		for _, target := range makeTargets(text) {
			if !strings.Contains(makefile, "\n"+target+":") {
				t.Errorf("the Makefile has no target %s", target)
			}
		}
	})
}

func TestDocumentedTestsExist(t *testing.T) {
	source := sources(t, isTest)
	eachPage(t, func(t *testing.T, _, text string) {
		for _, name := range testNames(text) {
			if !strings.Contains(source, "\nfunc "+name+"(") {
				t.Errorf("there is no %s", name)
			}
		}
	})
}

func isTest(path string) bool { return strings.HasSuffix(path, "_test.go") }

func TestHelpFitsTheTerminal(t *testing.T) {
	t.Parallel()
	for columns, longest := range map[string]int{"": 80, "60": 60, "200": 80} {
		help := exec.CommandContext(t.Context(), "make", "--no-print-directory", "help")
		help.Env = append(os.Environ(), "COLUMNS="+columns)
		text, err := help.CombinedOutput()
		if err != nil || strings.Count(string(text), "\n  make ") < 20 {
			t.Fatalf("%v\n%s", err, text)
		}
		for line := range strings.Lines(string(text)) {
			if n := len(strings.TrimRight(line, "\n")); n > longest {
				t.Errorf("COLUMNS=%s: %d columns: %s", columns, n, line)
			}
		}
	}
}

// Settings are read by Go, by the scripts of k6, by the Makefile and by compose.
var readSetting = regexp.MustCompile(`(?m)(?:"|__ENV\.|\$\{|\$\(|^ *)([A-Z][A-Z0-9_]+)\b`)

func TestDocumentedSettingsExist(t *testing.T) {
	source := sources(t, func(path string) bool {
		return !isTest(path) && slices.Contains([]string{".go", ".js", ".yml", ".env", ""}, filepath.Ext(path))
	})
	known := map[string]bool{"SSL_CERT": true} // SSL_CERT_FILE is read by crypto/x509
	for _, m := range readSetting.FindAllStringSubmatch(source, -1) {
		known[m[1]] = true
	}
	eachPage(t, func(t *testing.T, _, text string) {
		for _, name := range settings(text) {
			if !known[strings.TrimSuffix(name, "_FILE")] { // every secret may be in a file
				t.Errorf("nothing reads the setting %s", name)
			}
		}
	})
}

func TestDocumentedIdentifiersExist(t *testing.T) {
	packages := map[string]string{} // the source, by the name of the directory
	walk(t, func(path string) {
		if filepath.Ext(path) == ".go" {
			packages[filepath.Base(filepath.Dir(path))] += "\n" + read(t, path)
		}
	})
	eachPage(t, func(t *testing.T, _, text string) {
		for _, i := range identifiers(text) {
			pkg, name, _ := strings.Cut(i, ".")
			source := packages[pkg]
			declaration := regexp.MustCompile(`(?m)^(func|type|var|const|\t)( \([^)]*\))? ?` + name + `\b`)
			if source != "" && !declaration.MatchString(source) { // otherwise the package is not ours
				t.Errorf("package %s declares no %s", pkg, name)
			}
		}
	})
}

// Names in lower case with underscores are metrics, codes of problems, members
// of JSON, columns, and variables of MySQL.
var snakeForm = regexp.MustCompile(`^[a-z]+(_[a-z]+)+$`)

// foreignNames are names that only a library or a server knows.
var foreignNames = regexp.MustCompile(`^(go_sql|db|max|probe_ssl)_`)

func TestDocumentedNamesExist(t *testing.T) {
	source := sources(t, func(path string) bool { return !isTest(path) && filepath.Ext(path) != ".md" })
	eachPage(t, func(t *testing.T, _, text string) {
		for _, word := range words(text) {
			name, _, _ := strings.Cut(word, "{")
			name, _, _ = strings.Cut(name, "=")
			if snakeForm.MatchString(name) && !foreignNames.MatchString(name) && !strings.Contains(source, name) {
				t.Errorf("the code does not know %s", name)
			}
		}
	})
}

// commandFiles are the files that list the commands of our programs.
var commandFiles = map[string]string{"api": "cmd/api/main.go", "loadtest": "loadtest/main.go"}

var commandForm = regexp.MustCompile(`(?:^|bin/)(api|loadtest) ([a-z]+)`)

func TestDocumentedCommandsExist(t *testing.T) {
	eachPage(t, func(t *testing.T, _, text string) {
		for _, part := range code(text) {
			if m := commandForm.FindStringSubmatch(part); m != nil &&
				!strings.Contains(read(t, commandFiles[m[1]]), `"`+m[2]+`"`) {
				t.Errorf("%s has no command %s", m[1], m[2])
			}
		}
	})
}

func TestDocumentedLinksResolve(t *testing.T) {
	eachPage(t, func(t *testing.T, page, text string) {
		for _, m := range link.FindAllStringSubmatch(codeBlock.ReplaceAllString(text, ""), -1) {
			if !strings.Contains(m[1], "://") {
				checkLink(t, page, m[1])
			}
		}
	})
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
		t.Errorf("link %s: %v", target, err)
	case hasAnchor && !slices.Contains(anchors(read(t, path)), anchor):
		t.Errorf("link %s: no heading has this anchor", target)
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

// Both READMEs say what each directory of cmd and internal is for.
func TestReadmesNameEveryPackage(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"cmd/*", "internal/*"} {
		dirs, err := filepath.Glob(pattern)
		if err != nil || len(dirs) == 0 {
			t.Fatalf("%s: %v, %v", pattern, dirs, err)
		}
		for _, dir := range dirs {
			for _, page := range []string{"README.md", "README.zh-CN.md"} {
				if !slices.Contains(paths(read(t, page)), dir+"/") {
					t.Errorf("%s does not name %s/", page, dir)
				}
			}
		}
	}
}

// longest is how many lines a page may have.
var longest = map[string]int{"README.md": 150, "README.zh-CN.md": 150, "docs/operations.md": 250, "CHANGELOG.md": 60}

func TestPagesAreShort(t *testing.T) {
	t.Parallel()
	for page, lines := range longest {
		if n := strings.Count(read(t, page), "\n"); n > lines {
			t.Errorf("%s has %d lines, want %d at most", page, n, lines)
		}
	}
}
