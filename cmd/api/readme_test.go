package main

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
)

// settingsTable is what the README says of the settings, made from config.
func settingsTable() string {
	var b strings.Builder
	b.WriteString("| setting | default | meaning |\n|---|---|---|\n")
	for f := range reflect.TypeFor[config]().Fields() {
		byDefault := "–"
		if v, ok := f.Tag.Lookup("envDefault"); ok {
			byDefault = "`" + v + "`"
		}
		if strings.HasSuffix(f.Tag.Get("env"), ",required") {
			byDefault = "required"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", settingName(f), byDefault, f.Tag.Get("doc"))
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
		t.Errorf("the section Settings of README.md must have this table:\n%s", want)
	}
}
