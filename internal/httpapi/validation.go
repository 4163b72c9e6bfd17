package httpapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"
)

// huma creates the errors that it detects itself by a global variable.
func init() { huma.NewError = problemFromHuma }

func problemFromHuma(status int, message string, causes ...error) huma.StatusError {
	switch status {
	case 413:
		return tooLarge
	case 415:
		return newProblem(415, "unsupported_media_type", "The body must be application/json.")
	case 422:
		return invalid(badFields(causes)...)
	case 400:
		p := newProblem(400, "invalid_json", "The request body must be a JSON document.")
		p.Errors = badFields(causes)
		return p
	case 408:
		return newProblem(408, "body_too_slow", "The request body did not arrive in time.")
	}
	if message == "cannot read request body" { // a 500 for huma, but the client sent half a body or broken chunks
		return newProblem(400, "incomplete_body", "The request body ended early or is not framed as HTTP requires.")
	}
	return internal
}

// invalid returns the problem of a request with bad fields.
func invalid(fields ...BadField) *Problem {
	p := newProblem(422, "invalid_input", "The request is not valid.")
	p.Errors = fields
	return p
}

// badFields omits the values, which may be as large as the body.
func badFields(causes []error) []BadField {
	fields := make([]BadField, 0, len(causes))
	for _, cause := range causes {
		d, ok := errors.AsType[*huma.ErrorDetail](cause)
		if !ok {
			continue
		}
		in, field, _ := strings.Cut(d.Location, ".")
		if field == "" { // huma reports these on the parent
			_, _ = fmt.Sscanf(d.Message, validation.MsgExpectedRequiredProperty, &field)
			_, _ = fmt.Sscanf(d.Message, msgPlainDigits, &field)
		}
		fields = append(fields, BadField{in, field, d.Message})
	}
	return fields
}
