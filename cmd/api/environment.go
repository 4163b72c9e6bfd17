package main

import (
	"errors"
	"io/fs"
	"os"
	"reflect"
	"strings"
)

// environment returns the settings that are set, by name, and an error for each
// that is in a file and cannot be read. An empty value counts as not set, as in
// most programs.
func environment(getenv func(string) string) (map[string]string, []settingError) {
	set, broken := map[string]string{}, []settingError(nil)
	for f := range reflect.TypeFor[config]().Fields() {
		name := settingName(f)
		value := getenv(name)
		if f.Tag.Get("secret") != "" {
			var problem string
			if value, problem = secretFrom(getenv, name); problem != "" {
				broken = append(broken, settingError{name, problem})
			}
		}
		if value != "" {
			set[name] = value
		}
	}
	return set, broken
}

func settingName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
	return name
}

// secretFrom returns the value of the secret that is called name, or what is
// wrong with it. The value is in the variable of that name, or in the file whose
// path is in name_FILE, without the line's end. The path is not quoted: it may be
// the secret itself, by mistake.
func secretFrom(getenv func(string) string, name string) (value, problem string) {
	value, path := getenv(name), getenv(name+"_FILE")
	if path == "" {
		return value, ""
	}
	if value != "" {
		return "", name + "_FILE is set as well; set one of them"
	}
	value, problem = readSecret(path)
	if problem != "" {
		return "", "the file of " + name + "_FILE " + problem
	}
	return value, ""
}

// readSecret returns the one line of a file, or what is wrong with it. It does not
// open a pipe, which may never have a writer.
func readSecret(path string) (value, problem string) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return "", "is not a regular file"
	}
	content, err := os.ReadFile(path)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return "", "cannot be read: " + failed.Err.Error()
	}
	switch value = strings.TrimRight(string(content), "\r\n"); {
	case value == "":
		return "", "is empty"
	case strings.ContainsAny(value, "\r\n"):
		return "", "has more than one line"
	}
	return value, ""
}
