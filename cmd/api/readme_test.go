package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// settingsTable returns the README's table of settings, generated from config.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| setting | default | meaning |\n|---|---|---|\n")
	for f := range reflect.TypeFor[config]().Fields() {
		fallback := "–"
		if v, ok := f.Tag.Lookup("envDefault"); ok {
			fallback = "`" + v + "`"
		}
		if strings.HasSuffix(f.Tag.Get("env"), ",required") {
			fallback = "required"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", settingName(f), fallback, f.Tag.Get("doc"))
	}
	return b.String()
}

func TestReadmeListsEverySetting(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(readme), "\n## Settings\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if want := settingsTable(); !strings.Contains(section, want) {
		t.Errorf("the section Settings of README.md must contain this table:\n%s", want)
	}
}
