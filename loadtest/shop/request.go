package shop

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Request is a request with placeholders. A URL that begins with a slash is added
// to the shop's.
type Request struct {
	Method  string              `yaml:"method" json:"method,omitempty"` // if empty, POST with a body and GET without
	URL     Template            `yaml:"url" json:"url"`
	Headers map[string]Template `yaml:"headers" json:"headers,omitempty"`
	Body    Template            `yaml:"body" json:"body"`
	Form    map[string]Template `yaml:"form" json:"-"` // the fields of a form, instead of a body
}

func (r Request) given() bool { return !r.URL.Empty() }

// plain returns r with its form as a body.
func (r Request) plain() Request {
	if len(r.Form) == 0 {
		return r
	}
	headers := map[string]Template{"Content-Type": NewTemplate("application/x-www-form-urlencoded")}
	maps.Copy(headers, r.Headers)
	r.Headers, r.Body, r.Form = headers, urlEncoded(r.Form), nil
	return r
}

// With returns the request with its values.
func (r Request) With(v Values) Request {
	r = r.plain()
	filled := Request{Method: r.method(), URL: NewTemplate(r.URL.With(v)), Body: NewTemplate(r.Body.With(v))}
	filled.Headers = map[string]Template{}
	for name, value := range r.Headers {
		filled.Headers[name] = NewTemplate(value.With(v))
	}
	return filled
}

// templates returns all templates of r, by what they are.
func (r Request) templates() map[string]Template {
	all := map[string]Template{"url": r.URL, "body": r.Body}
	maps.Copy(all, r.Headers)
	maps.Copy(all, r.Form)
	return all
}

// method returns the method, or what it is when it is not given.
func (r Request) method() string {
	switch {
	case r.Method != "":
		return r.Method
	case r.Body.Empty() && len(r.Form) == 0:
		return http.MethodGet
	}
	return http.MethodPost
}

// Append appends the request to b as it is sent. base is the shop's URL.
func (r Request) Append(b []byte, base *url.URL, v Values) []byte {
	r = r.plain()
	b = append(append(append(b, r.method()...), ' '), strings.TrimRight(base.EscapedPath(), "/")...)
	b = r.URL.Append(b, v)
	b = append(append(append(b, " HTTP/1.1\r\nHost: "...), base.Host...), "\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		b = append(append(b, name...), ": "...)
		b = append(r.Headers[name].Append(b, v), "\r\n"...)
	}
	body := r.Body.Append(nil, v)
	b = strconv.AppendInt(append(b, "Content-Length: "...), int64(len(body)), 10)
	return append(append(b, "\r\n\r\n"...), body...)
}

// maxReply bounds what is read of a reply.
const maxReply = 64 << 20

// client contacts no other address than the one it is given.
var client = &http.Client{
	Transport: &http.Transport{MaxIdleConnsPerHost: parallel, IdleConnTimeout: time.Minute}, // and no Proxy
	CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	},
	Timeout: time.Minute,
}

// do sends r by c.
func (s *Shop) do(ctx context.Context, c *http.Client, r Request, v Values) (reply Reply, err error) {
	r = r.plain()
	address := r.URL.With(v)
	if strings.HasPrefix(address, "/") {
		address = strings.TrimRight(string(s.URL), "/") + address
	}
	req, err := http.NewRequestWithContext(ctx, r.method(), address, strings.NewReader(r.Body.With(v)))
	if err != nil {
		return reply, err
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value.With(v))
	}
	resp, err := c.Do(req)
	if err != nil {
		return reply, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	return Reply{Status: resp.StatusCode, Header: resp.Header, Body: body}, err
}

// call is do for a reply that must have a status below 300.
func (s *Shop) call(ctx context.Context, r Request, v Values) (Reply, error) {
	reply, err := s.do(ctx, client, r, v)
	if err == nil && reply.Status >= http.StatusMultipleChoices {
		err = unexpected(r, reply)
	}
	return reply, err
}

// unexpected says what a request was replied.
func unexpected(r Request, reply Reply) error {
	return fmt.Errorf("%s %s: status %d: %.200s", r.method(), r.URL, reply.Status, bytes.TrimSpace(reply.Body))
}
