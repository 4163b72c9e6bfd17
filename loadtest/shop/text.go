package shop

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Text is a string in which ${NAME} is the value of an environment variable, and
// ${NAME:-value} has a value for when it is not set or empty, as in docker-compose.yml.
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
		if os.Getenv(m[1]) == "" && !slices.Contains(names, m[1]) {
			names = append(names, m[1])
		}
	}
	return names
}

// wrong returns an error at node that does not end the decoding.
func wrong(node *yaml.Node, format string, args ...any) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", node.Line, fmt.Sprintf(format, args...))}}
}

// A Template is a Text with placeholders, as {{user}}.
type Template struct {
	text     string
	literals []string // between the placeholders: one more than there are names
	names    []string
}

var placeholder = regexp.MustCompile(`\{\{\s*(\w*)\s*\}\}`)

// NewTemplate returns the template that text is.
func NewTemplate(text string) Template {
	t := Template{text: text}
	last := 0
	for _, m := range placeholder.FindAllStringSubmatchIndex(text, -1) {
		t.literals, t.names = append(t.literals, text[last:m[0]]), append(t.names, text[m[2]:m[3]])
		last = m[1]
	}
	t.literals = append(t.literals, text[last:])
	return t
}

// UnmarshalYAML parses the template.
func (t *Template) UnmarshalYAML(node *yaml.Node) error {
	text, err := expand(node)
	*t = NewTemplate(text)
	return err
}

// Values are what placeholders stand for, by their names.
type Values map[string]string

// Append appends the text with its values to b.
func (t Template) Append(b []byte, v Values) []byte {
	for i, literal := range t.literals {
		b = append(b, literal...)
		if i < len(t.names) {
			b = append(b, v[t.names[i]]...)
		}
	}
	return b
}

// With returns the text with its values.
func (t Template) With(v Values) string { return string(t.Append(nil, v)) }

// Empty reports whether there is no text.
func (t Template) Empty() bool { return t.text == "" }

// String returns the template as it is written.
func (t Template) String() string { return t.text }

// MarshalJSON returns the template as it is written.
func (t Template) MarshalJSON() ([]byte, error) { return json.Marshal(t.text) }

// bind returns the template as SQL with the mark of the first, the second and so on
// instead of each placeholder, and what these stand for.
func (t Template) bind(v Values, mark func(i int) string) (query string, args []any) {
	query = t.literals[0]
	for i, name := range t.names {
		query += mark(i+1) + t.literals[i+1]
		args = append(args, v[name])
	}
	return query, args
}
