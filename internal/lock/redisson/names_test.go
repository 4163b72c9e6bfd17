package redisson

import "testing"

func TestSideKeysFollowRedissonsRule(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"plain":   {"p:{plain}", "{plain}:s"},
		"a{tag}b": {"p:a{tag}b", "a{tag}b:s"},
		"a{b":     {"p:a{b", "a{b:s"},
	} {
		if got := [2]string{prefixed("p", name), suffixed(name, "s")}; got != want {
			t.Errorf("side keys of %s: %q, want %q", name, got, want)
		}
	}
}
