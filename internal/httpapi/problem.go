package httpapi

import (
	"maps"
	"net/http"
	"time"

	"example.com/flashsale/internal/observe"
)

// A Problem is the body of every response that is not a success, as RFC 9457
// defines it. It is also an error, so that operations can return it.
type Problem struct {
	Type      string     `json:"type" example:"about:blank"`
	Title     string     `json:"title" example:"Conflict" doc:"The meaning of the status"`
	Status    int        `json:"status" example:"409"`
	Code      string     `json:"code" example:"sold_out" doc:"A stable code for programs"`
	Detail    string     `json:"detail,omitempty" doc:"An explanation for people"`
	BeginTime *time.Time `json:"begin_time,omitempty" doc:"With not_started: when the sale starts"`
	OrderID   *ID        `json:"order_id,omitempty" doc:"With already_claimed: the user's order of that number"`
	PerUser   int        `json:"per_user,omitempty" doc:"With limit_reached: how many orders a user may have"`
	UsedAt    *time.Time `json:"used_at,omitempty" doc:"With already_used: when it was used"`
	Errors    []BadField `json:"errors,omitempty" doc:"With invalid_input: one entry for each field"`
	TraceID   string     `json:"trace_id,omitempty" pattern:"^[0-9a-f]{32}$" doc:"The trace of this request, if it is traced"`

	header http.Header
}

// A BadField says what is wrong with one part of the request.
type BadField struct {
	In      string `json:"in" example:"body" doc:"body, path, query or header"`
	Field   string `json:"field,omitempty" example:"stock" doc:"Absent if the message is about the whole part"`
	Message string `json:"message"`
}

func newProblem(status int, code, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

func withHeader(p *Problem, name, value string) *Problem {
	p.header = http.Header{name: {value}}
	return p
}

// Error implements error.
func (p *Problem) Error() string { return p.Code }

// GetStatus implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders implements huma.HeadersError.
func (p *Problem) GetHeaders() http.Header { return p.header }

// ContentType implements huma.ContentTypeFilter.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// ServeHTTP implements http.Handler.
func (p *Problem) ServeHTTP(w http.ResponseWriter, _ *http.Request) { p.write(w) }

// traced returns p with the trace that header names.
func (p *Problem) traced(header http.Header) *Problem {
	id := header.Get(observe.TraceHeader)
	if id == "" {
		return p
	}
	named := *p
	named.TraceID = id
	return &named
}

// write writes p for handlers that bypass huma.
func (p *Problem) write(w http.ResponseWriter) {
	maps.Copy(w.Header(), p.header)
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	b, _ := encode(p.traced(w.Header()))
	_, _ = w.Write(b)
}
