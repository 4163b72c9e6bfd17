// Package page holds the files of the race's page, and makes one file of them.
package page

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/evanw/esbuild/pkg/api"
)

// Files are index.html, which is served at /, and what it loads from /page/.
//
//go:embed index.html *.js *.css uplot
var Files embed.FS

// Policy is the Content-Security-Policy of the page and of its files.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Whole returns the page with its style sheets, its scripts and its one module in it: one
// file that needs no other, with a place for a race. The module comes last, where the
// document is complete. The file's own policy allows only the scripts and styles in it.
func Whole() (string, error) {
	var i inliner
	i.document = i.read("index.html")
	i.replaceAll(`<link rel="stylesheet" href="/page/`, `">`, i.addStyle)
	i.replaceAll(`<script defer src="/page/`, `"></script>`, i.addScript)
	i.replaceAll(`<script type="module" src="/page/`, `"></script>`, i.addModule)
	i.document = strings.Replace(i.document, `<meta charset="utf-8">`, `<meta charset="utf-8">`+"\n"+i.policy(), 1)
	i.document = strings.Replace(i.document, "</body>", strings.Join(i.last, "\n")+"\n</body>", 1)
	return i.document, i.err
}

// An inliner replaces references in document by what they refer to.
type inliner struct {
	document        string
	last            []string // scripts that go to the end of the document
	styles, scripts []string // hashes for the policy
	err             error
}

// replaceAll replaces each reference between begin and end by what add returns
// for its path.
func (i *inliner) replaceAll(begin, end string, add func(path string) string) {
	for i.err == nil {
		before, rest, found := strings.Cut(i.document, begin)
		if !found {
			return
		}
		path, after, _ := strings.Cut(rest, end)
		i.document = before + add(path) + after
	}
}

func (i *inliner) addStyle(path string) string {
	text := i.read(path)
	i.styles = append(i.styles, hash(text))
	return "<style>" + text + "</style>"
}

// addScript adds a library, with the licence beside it.
func (i *inliner) addScript(file string) string {
	i.addLast("/*\n" + i.read(path.Join(path.Dir(file), "LICENSE")) + "*/\n" + i.read(file))
	return ""
}

func (i *inliner) addModule(path string) string {
	text, err := bundle(path)
	i.err = errors.Join(i.err, err)
	i.addLast(text)
	return ""
}

func (i *inliner) addLast(text string) {
	i.scripts = append(i.scripts, hash(text))
	i.last = append(i.last, "<script>"+text+"</script>")
}

func (i *inliner) read(path string) string {
	text, err := Files.ReadFile(path)
	i.err = errors.Join(i.err, err)
	return string(text)
}

// policy allows what is in the document, and nothing else.
func (i *inliner) policy() string {
	return fmt.Sprintf(`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src %s; style-src %s; img-src data:">`,
		strings.Join(i.scripts, " "), strings.Join(i.styles, " "))
}

func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// bundle returns a module and all that it imports as one script.
func bundle(entry string) (string, error) {
	result := api.Build(api.BuildOptions{
		EntryPoints: []string{entry}, Bundle: true, Format: api.FormatIIFE, Target: api.ES2022,
		MinifyWhitespace: true, Charset: api.CharsetUTF8, LegalComments: api.LegalCommentsNone,
		Plugins: []api.Plugin{{Name: "embedded", Setup: load}},
	})
	if len(result.Errors) > 0 {
		return "", fmt.Errorf("page: bundle %s: %s", entry, result.Errors[0].Text)
	}
	// An HTML parser ends a script at </script, wherever it is.
	return strings.ReplaceAll(string(result.OutputFiles[0].Contents), "</script", `<\/script`), nil
}

// load resolves modules to files. All files are in one directory.
func load(build api.PluginBuild) {
	build.OnResolve(api.OnResolveOptions{Filter: `.*`}, func(args api.OnResolveArgs) (api.OnResolveResult, error) {
		return api.OnResolveResult{Path: strings.TrimPrefix(args.Path, "./"), Namespace: "embedded"}, nil
	})
	build.OnLoad(api.OnLoadOptions{Filter: `.*`, Namespace: "embedded"},
		func(args api.OnLoadArgs) (api.OnLoadResult, error) {
			text, err := Files.ReadFile(args.Path)
			contents := string(text)
			return api.OnLoadResult{Contents: &contents, Loader: api.LoaderJS}, err
		})
}
