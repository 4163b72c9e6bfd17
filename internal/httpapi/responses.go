package httpapi

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"example.com/flashsale/internal/observe"
)

// everyOperation lists the problems that each operation can reply with, and
// everyBody those of operations that read a body.
var (
	everyOperation = []*Problem{
		badRequest, unauthorized, invalidToken, uriTooLong, rateLimited, headersTooLarge,
		internal, notImplemented, unavailable, overloaded, wrongVersion,
	}
	everyBody = []*Problem{tooLarge, invalidJSON, incompleteBody, bodyTooSlow, unsupportedMedia}
)

// everyProblem lists the problems that clients can see.
var everyProblem = slices.Concat(everyOperation, everyBody, claimVerdicts, changeProblems, []*Problem{
	stockLimit, rulesNotAllowed, alreadyUsed, orderReturned, orderExpired, notReturnable,
	orderNotFound, invalidInput, forbidden, noRoute, wrongMethod,
})

// TransformSchema implements huma.SchemaTransformer: it lists the codes.
func (Problem) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	codes := &s.Properties["code"].Enum
	for _, p := range everyProblem {
		if !slices.Contains(*codes, any(p.Code)) { // several have the same
			*codes = append(*codes, p.Code)
		}
	}
	return s
}

// problemResponses documents problems as an operation's responses by status.
func problemResponses(r huma.Registry, problems []*Problem) map[string]*huma.Response {
	byStatus := map[string][]*Problem{}
	for _, p := range problems {
		status := strconv.Itoa(p.Status)
		byStatus[status] = append(byStatus[status], p)
	}
	responses := map[string]*huma.Response{}
	for status, problems := range byStatus {
		responses[status] = problemResponse(r, problems)
	}
	return responses
}

// problemResponse documents the problems of one status: their codes, and their headers. It
// refers to Problem and adds nothing: openapi-generator makes an empty type of a reference with other
// members, and what ogen makes of a header that only some responses require does not compile.
func problemResponse(r huma.Registry, problems []*Problem) *huma.Response {
	response := &huma.Response{Headers: map[string]*huma.Header{}}
	for _, p := range problems {
		response.Description += fmt.Sprintf("- `%s`: %s\n", p.Code, p.Detail)
		for name := range p.header {
			response.Headers[name] = &huma.Header{}
		}
	}
	response.Content = map[string]*huma.MediaType{problems[0].ContentType(""): {
		Schema: r.Schema(reflect.TypeFor[Problem](), true, ""),
	}}
	return response
}

const ndjson = "application/x-ndjson"

// exportResponse documents an export, whose lines no schema can describe.
func exportResponse() *huma.Response {
	return &huma.Response{
		Description: "Lines of JSON: an Order each, and at the end `{\"orders\":n}`, the number of the others. " +
			"If that line is missing, the export is incomplete: request it again.",
		Content: map[string]*huma.MediaType{ndjson: {Schema: &huma.Schema{Type: huma.TypeString}}},
	}
}

// headers describes the headers of responses.
var headers = map[string]huma.Header{
	"Accept-Encoding":   {Description: "The coding that a body may have"},
	"Location":          {Description: "The path of what was created", Required: true},
	"Retry-After":       {Description: "Seconds to wait before the next attempt"},
	"Www-Authenticate":  {Description: "The scheme of the token, as in RFC 6750"},
	"X-Instance":        {Description: "The instance that replied; absent if a proxy replied"},
	observe.TraceHeader: {Description: "The trace of the request, if it is traced"},
}

// documentHeaders describes the headers of an operation's responses, and adds
// those that all of them have.
func documentHeaders(responses map[string]*huma.Response) {
	for _, r := range responses {
		if r.Headers == nil {
			r.Headers = map[string]*huma.Header{}
		}
		r.Headers["X-Instance"], r.Headers[observe.TraceHeader] = &huma.Header{}, &huma.Header{}
		for name, h := range r.Headers {
			common := headers[name]
			h.Description, h.Required = common.Description, common.Required
			h.Schema = &huma.Schema{Type: huma.TypeString}
			if name == "Retry-After" {
				h.Schema = &huma.Schema{Type: huma.TypeInteger, Minimum: new(float64)}
			}
		}
	}
}
