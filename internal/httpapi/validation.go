package httpapi

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// huma creates the errors that it detects itself by a global variable. Another
// one makes it compare the names of members as JSON does, which includes case.
func init() { huma.NewError, huma.ValidateStrictCasing = problemFromHuma, true }

func problemFromHuma(status int, message string, causes ...error) huma.StatusError {
	switch status {
	case 413:
		return tooLarge
	case 422:
		return withFields(invalidInput, badFields(causes)...)
	case 400:
		return withFields(invalidJSON, badFields(causes)...)
	case 408:
		return bodyTooSlow
	}
	if message == "cannot read request body" { // a 500 for huma, but the client sent half a body or broken chunks
		return incompleteBody
	}
	return internal
}

// withFields returns p with what is wrong with the fields of a request.
func withFields(p *Problem, fields ...BadField) *Problem {
	detailed := *p
	detailed.Errors = fields
	return &detailed
}

// maxFields bounds the fields that one problem lists. A body of maxBody bytes can
// have hundreds of bad ones.
const maxFields = 20

// badFields returns the first maxFields fields, each with the first cause that
// names it. It omits the values, which may be as large as the body.
func badFields(causes []error) []BadField {
	fields := []BadField{}
	for _, cause := range causes {
		d, ok := errors.AsType[*huma.ErrorDetail](cause)
		if !ok {
			continue
		}
		in, field, _ := strings.Cut(d.Location, ".")
		if field == "" { // huma reports a missing member on its parent
			_, _ = fmt.Sscanf(d.Message, validation.MsgExpectedRequiredProperty, &field)
		}
		named := func(f BadField) bool { return f.In == in && f.Field == field }
		if len(fields) < maxFields && !slices.ContainsFunc(fields, named) {
			fields = append(fields, BadField{in, field, d.Message})
		}
	}
	return fields
}
