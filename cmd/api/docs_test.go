package main

import (
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/settings"
)

// settingsPage is made by make docs, which passes -write.
const settingsPage = "../../docs/settings.md"

var write = flag.Bool("write", false, "write the tables of docs/settings.md")

// settingsTable returns the table of settings, generated from the tags.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| setting | default (limits) | meaning |\n|---|---|---|\n")
	for f := range reflect.TypeFor[settings.Settings]().Fields() {
		fallback := "–"
		if v, ok := f.Tag.Lookup("envDefault"); ok {
			fallback = "`" + v + "`"
		}
		if strings.HasSuffix(f.Tag.Get("env"), ",required") {
			fallback = "required"
		}
		if least, greatest, limited := strings.Cut(f.Tag.Get("limits"), ".."); limited {
			fallback += fmt.Sprintf(" (%s–%s)", least, greatest)
		}
		variable, _, _ := strings.Cut(f.Tag.Get("env"), ",")
		name := "`" + variable + "`"
		if f.Tag.Get("secret") != "" {
			name += " or `" + variable + "_FILE`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", name, fallback, f.Tag.Get("doc"))
	}
	return b.String()
}

// tables matches the tables of the page.
var tables = regexp.MustCompile(`(?m)(^\|.*\n)+`)

func TestSettingsPageIsGenerated(t *testing.T) {
	t.Parallel()
	page := readFile(t, settingsPage)
	generated := []string{settingsTable(), constantsTable(t)}
	if n := len(tables.FindAllString(page, -1)); n != len(generated) {
		t.Fatalf("docs/settings.md has %d tables, want %d", n, len(generated))
	}
	want := tables.ReplaceAllStringFunc(page, func(string) (table string) {
		table, generated = generated[0], generated[1:]
		return table
	})
	if *write {
		check.NoError(t, os.WriteFile(settingsPage, []byte(want), 0o644))
		return
	}
	if page != want {
		t.Errorf("docs/settings.md is not what the code says: run make docs, which writes:\n%s", want)
	}
}
