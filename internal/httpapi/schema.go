package httpapi

import (
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"example.com/flashsale/internal/coupon"
)

// The types in this file are those of members of requests. Their schemas say what the service
// accepts, so that a generated client can check it, with x-pattern where openapi-generator's client
// in Python would refuse everything by pattern: its re has no \p, and its times are no strings.

// A name is the name of a coupon. coupon.New decides whether it is valid.
type name string

// Schema implements huma.SchemaProvider.
func (name) Schema(huma.Registry) *huma.Schema {
	minLength, maxLength := 1, coupon.MaxName
	return &huma.Schema{
		Type: huma.TypeString, MinLength: &minLength, MaxLength: &maxLength,
		Extensions:  map[string]any{"x-pattern": coupon.NamePattern},
		Description: "At least one visible character; no control characters and no overrides of the text's direction. Spaces around the name are removed.",
	}
}

// A timestamp is a time that JSON carries as RFC 3339 defines it, with upper
// case letters and without leap seconds. time.Time alone also accepts a comma in
// the seconds, and any offset.
type timestamp struct{ time.Time }

const timePattern = `^[2-9][0-9]{3}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])` +
	`T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]+)?(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$`

// Schema implements huma.SchemaProvider.
func (timestamp) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{
		Type: huma.TypeString, Format: "date-time", Pattern: timePattern,
		PatternDescription: "an RFC 3339 time in the years 2000 to 9999",
		Extensions:         map[string]any{"x-pattern": timePattern},
	}
	s.PrecomputeMessages() // compiles the pattern, which huma validates by
	s.Pattern = ""
	return s
}

// units is a number of units of stock. Any form of a whole number in JSON is
// accepted, as JSON Schema defines integers: 50, 50.0, 5e1.
type units int

// Schema implements huma.SchemaProvider.
func (units) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeInteger, Format: "int32"}
}

// UnmarshalJSON implements json.Unmarshaler. The validation has checked before
// that the number is whole and within its bounds, in which float64 is exact. But
// huma takes null for an optional member that is absent: it becomes a number out of bounds.
func (u *units) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(string(text), 64)
	if *u = units(n); err != nil {
		*u = -1
	}
	return nil
}

// A flag is a member that is true or false. huma takes null for one that is absent.
type flag struct{ on, null bool }

// Schema implements huma.SchemaProvider.
func (flag) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeBoolean} }

// UnmarshalJSON implements json.Unmarshaler. The validation has refused other types before.
func (f *flag) UnmarshalJSON(text []byte) error {
	f.on, f.null = string(text) == "true", string(text) == "null"
	return nil
}
