package redisdriver

import "strings"

// Slot returns the slot of key in Redis Cluster: CRC-16/XMODEM of the hash tag,
// or of the whole key if it has none, modulo 16384.
func Slot(key string) int {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			key = tag
		}
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
