package coupon

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxName bounds a coupon's name in characters.
const MaxName = 100

// NamePattern is the rule for names, without their length, as a regular
// expression of ECMA-262 with Unicode classes, the form that JSON Schema uses.
const NamePattern = `^[^` + forbidden + `]*[\p{L}\p{N}\p{P}\p{S}][^` + forbidden + `]*$`

// forbidden holds the control characters, the separators of lines and
// paragraphs, and the characters that override the direction of the text around
// them.
const forbidden = `\u0000-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069`

// validName reports whether a name is not too long and matches NamePattern.
func validName(name string) bool {
	return utf8.RuneCountInString(name) <= MaxName &&
		strings.ContainsFunc(name, isVisible) && !strings.ContainsFunc(name, isForbidden)
}

func isVisible(r rune) bool { return unicode.In(r, unicode.L, unicode.N, unicode.P, unicode.S) }

func isForbidden(r rune) bool {
	return unicode.IsControl(r) || '\u2028' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}
