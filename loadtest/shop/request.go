package shop

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// A Request is a request with placeholders. A URL that begins with a slash is added
// to the shop's.
type Request struct {
	Method  string          `yaml:"method" json:"method,omitempty"` // if empty, POST with a body and GET without
	URL     Text            `yaml:"url" json:"url"`
	Headers map[string]Text `yaml:"headers" json:"headers,omitempty"`
	Body    Text            `yaml:"body" json:"body"`
	Form    map[string]Text `yaml:"form" json:"form,omitempty"` // the fields of a form, instead of a body
}

func (r Request) given() bool { return r.URL != "" }

// A Filled is a request with its values. What was a form is a body.
type Filled struct {
	Method, URL, Body string
	Headers           map[string]string
}

// With returns the request with its values.
func (r Request) With(v Values) Filled {
	f := Filled{Method: r.method(), URL: r.URL.With(v), Body: r.Body.With(v), Headers: map[string]string{}}
	if len(r.Form) > 0 {
		fields := url.Values{}
		for name, value := range r.Form {
			fields.Set(name, value.With(v))
		}
		f.Body, f.Headers["Content-Type"] = fields.Encode(), "application/x-www-form-urlencoded"
	}
	for name, value := range r.Headers {
		f.Headers[name] = value.With(v)
	}
	return f
}

// texts returns all texts of r, by what they are.
func (r Request) texts() map[string]Text {
	all := map[string]Text{"url": r.URL, "body": r.Body}
	maps.Copy(all, r.Headers)
	maps.Copy(all, r.Form)
	return all
}

// method returns the method, or what it is when it is not given.
func (r Request) method() string {
	switch {
	case r.Method != "":
		return r.Method
	case r.Body == "" && len(r.Form) == 0:
		return http.MethodGet
	}
	return http.MethodPost
}

// bytes returns the request as it is sent. base is the shop's URL.
func (f Filled) bytes(base *url.URL) []byte {
	path := strings.TrimRight(base.EscapedPath(), "/") + f.URL
	b := fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: %s\r\n", f.Method, path, base.Host)
	for _, name := range slices.Sorted(maps.Keys(f.Headers)) {
		b = fmt.Appendf(b, "%s: %s\r\n", name, f.Headers[name])
	}
	return fmt.Appendf(b, "Content-Length: %d\r\n\r\n%s", len(f.Body), f.Body)
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
	f := r.With(v)
	reply.To = f.Method + " " + f.URL
	if strings.HasPrefix(f.URL, "/") {
		f.URL = strings.TrimRight(string(s.URL), "/") + f.URL
	}
	req, err := http.NewRequestWithContext(ctx, f.Method, f.URL, strings.NewReader(f.Body))
	if err != nil {
		return reply, err
	}
	for name, value := range f.Headers {
		req.Header.Set(name, value)
	}
	resp, err := c.Do(req)
	if err != nil {
		return reply, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	reply.Status, reply.Header, reply.Body = resp.StatusCode, resp.Header, body
	return reply, err
}

// call is do for a reply that must have a status below 300.
func (s *Shop) call(ctx context.Context, r Request, v Values) (Reply, error) {
	reply, err := s.do(ctx, client, r, v)
	if err == nil && reply.Status >= http.StatusMultipleChoices {
		err = unexpected(reply)
	}
	return reply, err
}

// unexpected says what a request was replied.
func unexpected(r Reply) error {
	return fmt.Errorf("%s: status %d: %s", cmp.Or(r.To, "the burst"), r.Status, r.Said())
}
