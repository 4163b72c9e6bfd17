package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// settingsTable returns the table of settings in docs/operations.md, generated
// from config.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| setting | default | limits | meaning |\n|---|---|---|---|\n")
	for f := range reflect.TypeFor[config]().Fields() {
		fallback := "–"
		if v, ok := f.Tag.Lookup("envDefault"); ok {
			fallback = "`" + v + "`"
		}
		if strings.HasSuffix(f.Tag.Get("env"), ",required") {
			fallback = "required"
		}
		limits := "–"
		if least, greatest, limited := strings.Cut(f.Tag.Get("limits"), ".."); limited {
			limits = least + " to " + greatest
		}
		name := "`" + settingName(f) + "`"
		if f.Tag.Get("secret") != "" {
			name += " or `" + settingName(f) + "_FILE`"
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", name, fallback, limits, f.Tag.Get("doc"))
	}
	return b.String()
}

func TestOperationsPageListsEverySetting(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if want := settingsTable(); !strings.Contains(section, want) {
		t.Errorf("the section Settings of docs/operations.md must contain this table:\n%s", want)
	}
}
