package redisdriver

import (
	"strconv"
	"strings"
)

// HashTag returns a text that is in the slot of key when braces are around it: its
// hash tag, or key itself. A key without a tag that has a closing brace cannot be one;
// then it is the first number in that slot.
func HashTag(key string) string {
	if tag, ok := hashTag(key); ok {
		return tag
	}
	if !strings.Contains(key, "}") {
		return key
	}
	for slot, n := Slot(key), 0; ; n++ {
		if tag := strconv.Itoa(n); Slot(tag) == slot {
			return tag
		}
	}
}

// hashTag returns the text between the first opening brace of key and the next
// closing one, unless it is empty.
func hashTag(key string) (tag string, ok bool) {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, ok = strings.Cut(rest, "}")
	return tag, ok && tag != "" && strings.Contains(key, "{")
}

// Slot returns the slot of key in Redis Cluster: CRC-16/XMODEM of the hash tag,
// or of the whole key if it has none, modulo 16384.
func Slot(key string) int {
	if tag, ok := hashTag(key); ok {
		key = tag
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			if crc <<= 1; carry {
				crc ^= 0x1021
			}
		}
	}
	return int(crc % 16384)
}

// bySlot groups channels by their slots.
func bySlot(channels []string) map[int][]string {
	slots := map[int][]string{}
	for _, channel := range channels {
		slot := Slot(channel)
		slots[slot] = append(slots[slot], channel)
	}
	return slots
}
