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
}

func (r Request) given() bool { return !r.URL.Empty() }

// With returns the request with its values.
func (r Request) With(v Values) Request {
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
	return all
}

// method returns the method, or what it is when it is not given.
func (r Request) method() string {
	switch {
	case r.Method != "":
		return r.Method
	case r.Body.Empty():
		return http.MethodGet
	}
	return http.MethodPost
}

// Append appends the request to b as it is sent. base is the shop's URL.
func (r Request) Append(b []byte, base *url.URL, v Values) []byte {
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

// do sends r and returns the status and the body of the reply.
func (s *Shop) do(ctx context.Context, r Request, v Values) (status int, body []byte, err error) {
	address := r.URL.With(v)
	if strings.HasPrefix(address, "/") {
		address = strings.TrimRight(string(s.URL), "/") + address
	}
	req, err := http.NewRequestWithContext(ctx, r.method(), address, strings.NewReader(r.Body.With(v)))
	if err != nil {
		return 0, nil, err
	}
	for name, value := range r.Headers {
		req.Header.Set(name, value.With(v))
	}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, maxReply))
	return resp.StatusCode, body, err
}

// call is do for a reply that must have a status below 300.
func (s *Shop) call(ctx context.Context, r Request, v Values) ([]byte, error) {
	status, body, err := s.do(ctx, r, v)
	if err == nil && status >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s %s: status %d: %.200s", r.method(), r.URL, status, bytes.TrimSpace(body))
	}
	return body, err
}
