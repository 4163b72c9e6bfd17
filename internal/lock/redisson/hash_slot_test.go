package redisson

import "testing"

// The first value is the check value of CRC-16/XMODEM, the others are replies of
// CLUSTER KEYSLOT.
func TestHashSlot(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{
		"123456789": 0x31c3, "": 0, "foo": 12182, "{foo}:bar": 12182, "a{foo}{bar}": 12182, "{}foo": 9500, "foo{": 7673,
	} {
		if got := hashSlot(key); got != want {
			t.Errorf("slot of %q = %d, want %d", key, got, want)
		}
	}
}

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
