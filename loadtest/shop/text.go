package shop

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Text is a string in which ${NAME} is the value of an environment variable, and
// ${NAME:-value} has a value for when it is not set or empty, as in docker-compose.yml.
// In some, {{name}} is a placeholder.
type Text string

var variable = regexp.MustCompile(`\$\{(\w+)(:-[^}]*)?\}`)

// UnmarshalYAML replaces the variables. One that is not set and has no value is an
// error.
func (t *Text) UnmarshalYAML(node *yaml.Node) error {
	text, err := expand(node)
	*t = Text(text)
	return err
}

// expand returns the scalar of node with the values of its variables.
func expand(node *yaml.Node) (text string, err error) {
	if node.Kind != yaml.ScalarNode {
		return "", wrong(node, "want a text")
	}
	text = variable.ReplaceAllStringFunc(node.Value, func(one string) string {
		m := variable.FindStringSubmatch(one)
		value := os.Getenv(m[1])
		if value == "" && m[2] == "" {
			err = wrong(node, "the environment variable %s is not set", m[1])
		}
		if value == "" {
			value = strings.TrimPrefix(m[2], ":-")
		}
		return value
	})
	return text, err
}

// unset returns the names of the variables in a file that have no value.
func unset(text string) (names []string) {
	for _, m := range variable.FindAllStringSubmatch(text, -1) {
		if os.Getenv(m[1]) == "" && strings.TrimPrefix(m[2], ":-") == "" && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// wrong returns an error at node that does not end the decoding.
func wrong(node *yaml.Node, format string, args ...any) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", node.Line, fmt.Sprintf(format, args...))}}
}

// Values are what placeholders stand for, by their names.
type Values map[string]string

var placeholder = regexp.MustCompile(`\{\{\s*(\w*)\s*\}\}`)

// names returns the names of the placeholders in t, as user in {{user}}.
func (t Text) names() (names []string) {
	for _, m := range placeholder.FindAllStringSubmatch(string(t), -1) {
		names = append(names, m[1])
	}
	return names
}

// replaced returns t with what f returns for the name of each placeholder.
func (t Text) replaced(f func(name string) string) string {
	return placeholder.ReplaceAllStringFunc(string(t), func(one string) string { return f(Text(one).names()[0]) })
}

// With returns t with v instead of its placeholders.
func (t Text) With(v Values) string { return t.replaced(func(name string) string { return v[name] }) }

// bind returns t as SQL with the mark of the first, the second and so on instead of each
// placeholder, and what these stand for.
func (t Text) bind(v Values, mark func(i int) string) (query string, args []any) {
	query = t.replaced(func(name string) string {
		args = append(args, v[name])
		return mark(len(args))
	})
	return query, args
}
