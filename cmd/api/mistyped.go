package main

import (
	"log/slog"
	"reflect"
	"strings"
)

// warnMistyped logs each variable of environ whose name is a setting's but for one
// character: a mistyped setting would leave its default in force.
func warnMistyped(log *slog.Logger, environ []string) {
	known := settingNames()
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if known[name] {
			continue
		}
		for setting := range known {
			if len(setting) > 4 && isOneEditAway(name, setting) {
				log.Warn("a variable looks like a setting, but is none", "variable", name, "setting", setting)
			}
		}
	}
}

// settingNames returns the names of all variables that are read.
func settingNames() map[string]bool {
	names := map[string]bool{}
	for f := range reflect.TypeFor[config]().Fields() {
		names[settingName(f)] = true
		if f.Tag.Get("secret") != "" {
			names[settingName(f)+"_FILE"] = true
		}
	}
	return names
}

// isOneEditAway reports whether one character was changed, added, left out or
// swapped with the next one.
func isOneEditAway(a, b string) bool {
	i := 0
	for i < min(len(a), len(b)) && a[i] == b[i] {
		i++
	}
	a, b = a[i:], b[i:]
	switch {
	case len(a) > len(b):
		return a[1:] == b
	case len(a) < len(b):
		return a == b[1:]
	case len(a) < 2:
		return len(a) == 1
	}
	return a[1:] == b[1:] || a[0] == b[1] && a[1] == b[0] && a[2:] == b[2:]
}
