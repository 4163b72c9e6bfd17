package shop

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Step is one of the requests that a claim consists of.
type Step struct {
	Request `yaml:",inline"`
	Burst   bool               `yaml:"burst"`  // all wait for one another before it
	Wait    time.Duration      `yaml:"wait"`   // of all together, before it
	Expect  Match              `yaml:"expect"` // a status below 400 if it is empty
	Keep    map[string]Extract `yaml:"keep"`   // for placeholders of later steps
}

func (s Step) expected(r Reply) bool {
	return s.Expect.matches(r) || !s.Expect.given() && r.Status < http.StatusBadRequest
}

// Whom a session is for.
const (
	perUser  = "user"
	perClaim = "claim"
)

// steps returns the steps of a claim.
func (s *Shop) steps() []Step {
	if len(s.Steps) > 0 {
		return s.Steps
	}
	return []Step{{Request: s.Claim, Burst: true}}
}

// Plain reports whether a claim is one request, and its outcome is in the status and the
// body: that is what k6 and JMeter can send.
func (s *Shop) Plain() bool {
	return len(s.Steps) == 0 && s.Reply.Accepted.plain() && s.Reply.Refused.plain() && s.Reply.Order.plain()
}

// A Session is that of a client: its cookies, and what it has kept of replies.
type Session struct {
	User
	shop   *Shop
	base   *url.URL
	values Values
	client *http.Client
}

// Sessions returns the sessions in which users send the claims: claim number n is sent in
// session n modulo their number, for user n modulo theirs. In each, the steps before the
// burst have been taken.
func (s *Shop) Sessions(ctx context.Context, users []User, claims int, coupon string) ([]*Session, error) {
	if s.Session == perUser {
		claims = min(claims, len(users))
	}
	base, err := url.Parse(strings.TrimRight(string(s.URL), "/"))
	if err != nil {
		return nil, err
	}
	all := make([]*Session, claims)
	for i := range all {
		u := users[i%len(users)]
		all[i] = &Session{
			User: u, shop: s, base: base, values: Values{"user": u.ID, "token": u.Token, "coupon": coupon},
		}
	}
	return all, s.prepare(ctx, all)
}

// prepare takes the steps before the burst, one session after the other. All have taken one
// before the next begins.
func (s *Shop) prepare(ctx context.Context, all []*Session) error {
	if len(s.Steps) == 0 {
		return nil
	}
	for _, session := range all {
		own := *client
		own.Jar, _ = cookiejar.New(nil) // it returns no error
		session.client = &own
	}
	for i, step := range s.Steps[:s.burst()+1] {
		if !sleep(ctx, step.Wait) {
			return context.Cause(ctx)
		}
		if step.Burst {
			break
		}
		for _, session := range all {
			if err := session.advance(ctx, step); err != nil {
				return fmt.Errorf("step %d of %w", i+1, err)
			}
		}
	}
	return nil
}

// advance takes a step before the burst.
func (s *Session) advance(ctx context.Context, step Step) error {
	reply, err := s.take(ctx, step)
	if err == nil {
		err = s.keep(step, reply)
	}
	if err != nil {
		return fmt.Errorf("user %s: %w", s.ID, err)
	}
	return nil
}

// burst returns the index of the step at which all wait for one another.
func (s *Shop) burst() int {
	return slices.IndexFunc(s.steps(), func(step Step) bool { return step.Burst })
}

// take sends the request of a step, to no other address than the shop's.
func (s *Session) take(ctx context.Context, step Step) (Reply, error) {
	if address := step.URL.With(s.values); !strings.HasPrefix(address, "/") {
		return Reply{}, fmt.Errorf("%s is not an address of the shop: %q", step.URL, address)
	}
	return s.shop.do(ctx, s.client, step.Request, s.values)
}

// keep keeps what step keeps of its reply. A location of the shop is kept as a path.
func (s *Session) keep(step Step, r Reply) error {
	if !step.expected(r) {
		return unexpected(r)
	}
	for _, name := range slices.Sorted(maps.Keys(step.Keep)) {
		value, found := step.Keep[name].From(r)
		if !found {
			return fmt.Errorf("no %s in the reply: %w", name, unexpected(r))
		}
		if http.CanonicalHeaderKey(step.Keep[name].Header) == "Location" {
			value = strings.TrimPrefix(value, s.base.String())
		}
		s.values[name] = value
	}
	return nil
}

// Append appends the request of the burst to b as it is sent. Number is which of its
// user's orders it is for.
func (s *Session) Append(b []byte, number int) []byte {
	s.values["number"] = strconv.Itoa(number)
	f := s.shop.Claim.With(s.values)
	if s.client != nil {
		if cookies := s.cookies(); cookies != "" {
			f.Headers["Cookie"] = cookies
		}
	}
	return f.Append(b, s.base)
}

// cookies returns the header Cookie of the burst.
func (s *Session) cookies() string {
	address, err := url.Parse(s.base.String() + s.shop.Claim.URL.With(s.values))
	if err != nil {
		address = s.base
	}
	var pairs []string
	for _, c := range s.client.Jar.Cookies(address) {
		pairs = append(pairs, c.Name+"="+c.Value)
	}
	return strings.Join(pairs, "; ")
}

// Finish takes the steps after the burst, which was replied by r, and returns the last
// reply: that of the first step that was not replied as expected, if there is one.
func (s *Session) Finish(ctx context.Context, r Reply) (Reply, error) {
	own := *s
	own.values = maps.Clone(s.values) // another claim may be in the same session
	steps := s.shop.steps()[s.shop.burst():]
	if len(steps) > 1 {
		own.client.Jar.SetCookies(s.base, (&http.Response{Header: r.Header}).Cookies())
	}
	for i, next := range steps[1:] {
		if own.keep(steps[i], r) != nil {
			break
		}
		var err error
		if r, err = own.take(ctx, next); err != nil {
			return r, err
		}
	}
	return r, nil //nolint:nilerr // the reply tells what it lacks
}
