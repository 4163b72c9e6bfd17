package shop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v3"
	"golang.org/x/net/html"
)

// The outcomes of a claim. After an unknown one, the shop may have an order or not.
const (
	Accepted = "accepted"
	Refused  = "refused"
	Unknown  = "unknown"
)

// A Reply is a reply of the shop.
type Reply struct {
	To     string // method and address, where an error may name it
	Status int
	Header http.Header // may be nil where nothing looks at it
	Body   []byte
}

// Said returns what is said first, of a page in HTML as a reader sees it.
func (r Reply) Said() string {
	text := r.Body
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")) {
		text = visible(text)
	}
	return fmt.Sprintf("%.200s", bytes.Join(bytes.Fields(text), []byte(" ")))
}

func visible(page []byte) (text []byte) {
	hidden := false
	for tokens := html.NewTokenizer(bytes.NewReader(page)); ; {
		switch kind := tokens.Next(); {
		case kind == html.ErrorToken:
			return text
		case kind == html.TextToken && !hidden:
			text = append(append(text, ' '), html.UnescapeString(string(tokens.Text()))...)
		case kind != html.TextToken:
			name, _ := tokens.TagName()
			hidden = kind == html.StartTagToken && (string(name) == "script" || string(name) == "style")
		}
	}
}

// Replies say how replies to claims are read. A reply that is neither accepted nor
// refused, or both, is unknown, and so is a claim without a reply.
type Replies struct {
	Accepted Match   `yaml:"accepted"`
	Refused  Match   `yaml:"refused"`
	Order    Extract `yaml:"order"` // the id of the order, without which no reply is accepted
}

// Read returns the outcome of a claim with the given reply, and the id of its order.
func (r Replies) Read(reply Reply) (outcome, order string) {
	found := true
	if r.Order.given() {
		order, found = r.Order.From(reply)
	}
	switch accepted, refused := found && r.Accepted.matches(reply), r.Refused.matches(reply); {
	case accepted == refused:
		return Unknown, ""
	case accepted:
		return Accepted, order
	}
	return Refused, ""
}

// A Match is a condition on a reply. Everything that it has must be so.
type Match struct {
	Status  []int `yaml:"status"`
	Extract `yaml:",inline"`
}

func (m Match) matches(r Reply) bool {
	if len(m.Status) > 0 && !slices.Contains(m.Status, r.Status) || !m.given() {
		return false
	}
	_, found := m.From(r)
	return found
}

func (m Match) given() bool { return len(m.Status) > 0 || m.Extract.given() }

// An Extract is a part of a reply: the value at a JSON pointer (RFC 6901), of a header,
// of a cookie that is set or of a field of a form in HTML; or the first group of a regular
// expression on the body, or on that value.
type Extract struct {
	Pointer Pointer `yaml:"pointer"`
	Header  string  `yaml:"header"`
	Cookie  string  `yaml:"cookie"`
	Field   string  `yaml:"field"`
	Matches Regexp  `yaml:"matches"`
}

func (e Extract) given() bool { return e != Extract{} }

// plain reports whether e looks at nothing but the body as text or JSON.
func (e Extract) plain() bool { return e.Header == "" && e.Cookie == "" && e.Field == "" }

// From returns the part, or false if the reply does not have it.
func (e Extract) From(r Reply) (part string, found bool) {
	if part, found = e.source(r); !found {
		return "", false
	}
	if e.Matches.Regexp == nil {
		return part, true
	}
	if m := e.Matches.FindStringSubmatch(part); m != nil {
		return m[min(1, len(m)-1)], true
	}
	return "", false
}

// source returns the text that Matches is for.
func (e Extract) source(r Reply) (text string, found bool) {
	switch {
	case e.Pointer != "":
		return e.Pointer.find(r.Body)
	case e.Header != "":
		return r.Header.Get(e.Header), r.Header.Get(e.Header) != ""
	case e.Cookie != "":
		for _, c := range (&http.Response{Header: r.Header}).Cookies() {
			if c.Name == e.Cookie {
				text, found = c.Value, true
				if decoded, err := url.PathUnescape(text); err == nil { // as a page of Laravel's sends it in a header
					text = decoded
				}
			}
		}
		return text, found
	case e.Field != "":
		return field(r.Body, e.Field)
	}
	return string(r.Body), true
}

// field returns the value of the first input of an HTML page that has the name.
func field(page []byte, name string) (value string, found bool) {
	for tokens := html.NewTokenizer(bytes.NewReader(page)); tokens.Next() != html.ErrorToken; {
		token := tokens.Token()
		attributes := map[string]string{}
		for _, a := range token.Attr {
			attributes[a.Key] = a.Val
		}
		if token.Data == "input" && attributes["name"] == name {
			return attributes["value"], true
		}
	}
	return "", false
}

// A Regexp is a regular expression in the syntax of RE2.
type Regexp struct{ *regexp.Regexp }

// UnmarshalYAML compiles the expression. A placeholder in it would stand for itself.
func (r *Regexp) UnmarshalYAML(node *yaml.Node) error {
	text, err := expand(node)
	if err == nil && placeholder.MatchString(text) {
		err = wrong(node, "a regular expression has no placeholders: %s", text)
	}
	if err != nil {
		return err
	}
	if r.Regexp, err = regexp.Compile(text); err != nil {
		return wrong(node, "%v", err)
	}
	return nil
}

// A Pointer names a value in a JSON document, as in RFC 6901: /data/id.
type Pointer string

// UnmarshalYAML checks that the pointer begins with a slash.
func (p *Pointer) UnmarshalYAML(node *yaml.Node) error {
	text, err := expand(node)
	if err == nil && !strings.HasPrefix(text, "/") {
		err = wrong(node, "the JSON pointer %q does not begin with /", text)
	}
	*p = Pointer(text)
	return err
}

// find returns the value as text: a string without its quotes, anything else as it is. Null
// is no value.
func (p Pointer) find(body []byte) (text string, found bool) {
	var value json.RawMessage
	_ = json.Unmarshal(body, &value) // what is not JSON has no value
	for token := range jsontext.Pointer(p).Tokens() {
		value = member(value, token)
	}
	if len(value) > 0 && value[0] == '"' {
		return text, json.Unmarshal(value, &text) == nil
	}
	return string(value), len(value) > 0 && string(value) != "null"
}

// member returns a member of an object or an element of an array, or nothing.
func member(value json.RawMessage, token string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(value, &object) == nil {
		return object[token]
	}
	var array []json.RawMessage
	_ = json.Unmarshal(value, &array)
	if i, err := strconv.Atoi(token); err == nil && 0 <= i && i < len(array) {
		return array[i]
	}
	return nil
}
