package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"
)

// environment returns the settings that are set, by name, and a problem for each
// that cannot be read or is not as it was meant. An empty value counts as not set,
// as in most programs.
func environment(getenv func(string) string) (set map[string]string, wrong problems) {
	set = map[string]string{}
	for f := range reflect.TypeFor[Settings]().Fields() {
		name := nameOf(f)
		value, problem := trimmed(getenv(name))
		if f.Tag.Get("secret") != "" {
			value, problem = secretFrom(getenv, name)
		}
		if problem == "" {
			problem = mispasted(name, value, f.Type.Kind() == reflect.Slice)
		}
		if wrong.require(problem == "", name, problem); problem == "" && value != "" {
			set[name] = value
		}
	}
	return set, wrong
}

// nameOf returns the name of a field's setting.
func nameOf(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("env"), ",")
	return name
}

// trimmed returns the one line of text without a byte-order mark and the line's end,
// which no value has, or what is wrong with it.
func trimmed(text string) (value, problem string) {
	if !utf8.ValidString(text) || strings.Contains(text, "\x00") {
		return "", "is not text in UTF-8"
	}
	value = strings.TrimRight(strings.TrimPrefix(text, "\ufeff"), "\r\n")
	if strings.ContainsAny(value, "\r\n") {
		return "", "has more than one line"
	}
	return value, ""
}

// quotes are what surrounds a value in files whose readers remove it.
const quotes = "\"'`“”„‘’«»"

// mispasted returns what a value has that may be meant or not: what is around it in a
// file, or what cannot be seen. The service would go on without the user or the key
// that was meant. The elements of a list are looked at one by one. It does not quote
// the value.
func mispasted(name, value string, list bool) (problem string) {
	for _, r := range value {
		if !unicode.IsPrint(r) {
			return fmt.Sprintf("has a character that cannot be seen, %U", r)
		}
	}
	if strings.HasPrefix(value, name+"=") {
		return "begins with its own name"
	}
	parts := []string{value}
	if list {
		for element := range strings.SplitSeq(value, ",") {
			if element == "" && value != "" {
				return "has an empty element"
			}
			_, key, _ := strings.Cut(element, "=") // of kid=secret
			parts = append(parts, element, key)
		}
	}
	for _, part := range parts {
		first, _ := utf8.DecodeRuneInString(part)
		last, _ := utf8.DecodeLastRuneInString(part)
		switch {
		case part != strings.TrimSpace(part):
			return "has a blank at an end"
		case strings.ContainsRune(quotes, first) && strings.ContainsRune(quotes, last):
			return "is in quotes"
		}
	}
	return ""
}

// secretFrom returns the value of the secret that is called name, or what is
// wrong with it. The value is in the variable of that name, or in the file whose
// path is in name_FILE. The path is not quoted: it may be the secret itself, by
// mistake.
func secretFrom(getenv func(string) string, name string) (value, problem string) {
	value, problem = trimmed(getenv(name))
	path, pathProblem := trimmed(getenv(name + "_FILE"))
	if path == "" && pathProblem == "" {
		return value, problem
	}
	if value != "" || problem != "" {
		return "", name + "_FILE is set as well; set one of them"
	}
	if pathProblem == "" {
		pathProblem = mispasted(name+"_FILE", path, false)
	}
	if pathProblem != "" {
		return "", "the path in " + name + "_FILE " + pathProblem
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
	if value, problem = trimmed(string(content)); value == "" && problem == "" {
		return "", "is empty"
	}
	return value, problem
}
