package httpapi

import (
	"errors"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// An ID is a positive int64. JSON carries it as a string, because many clients
// hold numbers as doubles, which are not exact beyond 2^53.
type ID struct{ n int64 }

const idPattern = "^[1-9][0-9]{0,18}$"

var errID = errors.New("must be a whole number of at most 19 digits, without a sign or leading zeros")

// UnmarshalText implements encoding.TextUnmarshaler. A number of 19 digits that
// exceeds an int64 becomes the largest int64: it is above all ids, and nothing
// has it as its id.
func (id *ID) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 64) // on overflow the largest int64
	if errors.Is(err, strconv.ErrRange) && len(text) == 19 {
		err = nil
	}
	if err != nil || n <= 0 || text[0] < '1' { // a sign or a leading zero
		return errID
	}
	id.n = n
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (id ID) MarshalText() ([]byte, error) { return strconv.AppendInt(nil, id.n, 10), nil }

// Schema implements huma.SchemaProvider.
func (ID) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "int64", Pattern: idPattern,
		Examples: []any{"2305843010287435777"}}
}
