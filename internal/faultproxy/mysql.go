package faultproxy

import "encoding/binary"

// MySQLError returns what a MySQL replies to a command that it refuses, for Reply and Refuse.
func MySQLError(number uint16, text string) []byte {
	payload := append(binary.LittleEndian.AppendUint16([]byte{0xff}, number), "#HY000"+text...)
	return append([]byte{byte(len(payload)), 0, 0, 1}, payload...)
}
