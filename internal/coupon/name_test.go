package coupon_test

import (
	"regexp"
	"testing"
	"unicode"

	"example.com/flashsale/internal/coupon"
)

// accepts reports whether a coupon may have the name.
func accepts(name string) bool {
	_, err := coupon.New(1, name, begin, end, 1, begin)
	return err == nil
}

func TestNamesThatCannotBeReadAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"", " ", "\u3000", "a\x00", "a\nb", "a\n", "\ta", "a\x7f", "a\u0085", "a\u2028b", "a\u202egpj", "a\u2067b",
		"\u200b", "\u200b\ufeff\u00ad", "\u0301",
	} {
		if accepts(name) {
			t.Errorf("%q is accepted", name)
		}
	}
	for _, name := range []string{"a", "100 off", "满减", "👨\u200d👩\u200d👧", "می\u200cخواهم", "e\u0301", "قسيمة",
		"-50 %", " a "} {
		if !accepts(name) {
			t.Errorf("%q is refused", name)
		}
	}
}

// The API's documentation has the pattern, and New decides. Beyond the scripts of many
// categories Unicode has long runs of runes of one, and the tags at 0xe0000.
func TestNamePatternIsTheRuleOfNew(t *testing.T) {
	t.Parallel()
	inGo := regexp.MustCompile(`\\u([0-9a-f]{4})`).ReplaceAllString(coupon.NamePattern, `\x{$1}`)
	pattern := regexp.MustCompile(inGo)
	for r, step := rune(0), rune(1); r <= unicode.MaxRune; r += step {
		if step = 1; r > 0x33ff && r>>12 != 0xe0 {
			step = 16
		}
		for _, name := range []string{string(r), "a" + string(r)} {
			if got, want := accepts(name), pattern.MatchString(name); got != want {
				t.Fatalf("%q: accepted %v, the pattern matches %v", name, got, want)
			}
		}
	}
}
