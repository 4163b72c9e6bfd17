package redisdriver

import "testing"

// The first is the check value of CRC-16/XMODEM. The others are replies of
// CLUSTER KEYSLOT.
func TestSlotIsThatOfRedisCluster(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]int{
		"123456789": 0x31c3, "": 0, "foo": 12182, "{foo}:bar": 12182, "a{foo}{bar}": 12182, "{}foo": 9500,
		"foo{": 7673,
	} {
		if got := Slot(key); got != want {
			t.Errorf("slot of %q = %d, want %d", key, got, want)
		}
	}
}
