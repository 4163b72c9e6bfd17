package shop

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// A Step is one of the requests that a claim consists of.
type Step struct {
	Request `yaml:",inline"`
	Burst   bool               `yaml:"burst"`  // all wait for one another before it
	Wait    time.Duration      `yaml:"wait"`   // before it, of all together; after the burst, of each claim
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

// key is the placeholder of what is new in each request, as an Idempotency-Key.
const key = "uuid"

// Plain reports whether a claim is one request, and its outcome is in the status and the
// body: that is what k6 and JMeter can send.
func (s *Shop) Plain() bool {
	return len(s.Steps) == 1 && !uses(s.Claim, key) &&
		s.Reply.Accepted.plain() && s.Reply.Refused.plain() && s.Reply.Order.plain()
}

// Numbered reports whether a claim says which of its user's orders it is for.
func (s *Shop) Numbered() bool {
	return slices.ContainsFunc(s.Steps[s.burst:], func(step Step) bool { return uses(step.Request, "number") })
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
		u, own := users[i%len(users)], *client
		own.Jar, _ = cookiejar.New(nil) // it returns no error
		all[i] = &Session{u, s, base, Values{"user": u.ID, "token": u.Token, "coupon": coupon}, &own}
	}
	return all, s.prepare(ctx, all)
}

// prepare takes the steps before the burst, one session after the other. All have taken one
// before the next begins.
func (s *Shop) prepare(ctx context.Context, all []*Session) error {
	for i, step := range s.Steps[:s.burst+1] {
		if !sleep(ctx, step.Wait) {
			return context.Cause(ctx)
		}
		if step.Burst {
			break
		}
		begin := time.Now()
		for n, session := range all {
			if n == 1 {
				fmt.Fprintf(os.Stderr, "         step %d of %d by %d sessions: about %.0fs\n", i+1, len(s.Steps), len(all),
					time.Since(begin).Seconds()*float64(len(all)))
			}
			reply, err := session.take(ctx, step)
			if err == nil {
				err = session.keep(step, reply)
			}
			if err != nil {
				return fmt.Errorf("step %d of user %s: %w", i+1, session.ID, err)
			}
		}
	}
	return nil
}

// take sends the request of a step, to no other address than the shop's.
func (s *Session) take(ctx context.Context, step Step) (Reply, error) {
	s.values[key] = uuid.NewString()
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
			value = s.path(value)
		}
		s.values[name] = value
	}
	return nil
}

// path returns an address of the shop, which is one of https if the shop is behind TLS, as a path.
func (s *Session) path(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host != s.base.Host {
		return address
	}
	return strings.TrimPrefix(u.RequestURI(), s.base.EscapedPath())
}

// Request returns the request of the burst as it is sent. Number is which of its user's
// orders it is for. The last request of its connection says so: some shops have a process for each connection.
func (s *Session) Request(number int, last bool) []byte {
	s.values["number"], s.values[key] = strconv.Itoa(number), uuid.NewString()
	f := s.shop.Claim.With(s.values)
	if last {
		f.Headers["Connection"] = "close"
	}
	if len(s.shop.Steps) > 1 { // else there are no cookies
		s.addCookies(f)
	}
	return f.bytes(s.base)
}

// addCookies adds those of the session that are for the address of f.
func (s *Session) addCookies(f Filled) {
	r, err := http.NewRequest(f.Method, s.base.String()+f.URL, http.NoBody)
	if err != nil {
		return
	}
	for _, c := range s.client.Jar.Cookies(r.URL) {
		r.AddCookie(c)
	}
	if cookies := r.Header.Get("Cookie"); cookies != "" {
		f.Headers["Cookie"] = cookies
	}
}

// Finish takes the steps after the burst, which was replied by r and is for the order of the
// user that has the number, and returns the last reply: that of the first step that was not
// replied as expected, if there is one.
func (s *Session) Finish(ctx context.Context, r Reply, number int) (Reply, error) {
	own := *s
	own.values = maps.Clone(s.values) // another claim may be in the same session
	own.values["number"] = strconv.Itoa(number)
	s.client.Jar.SetCookies(s.base, (&http.Response{Header: r.Header}).Cookies())
	for i, next := range s.shop.Steps[s.shop.burst+1:] {
		if own.keep(s.shop.Steps[s.shop.burst+i], r) != nil {
			break
		}
		if !sleep(ctx, next.Wait) {
			return r, context.Cause(ctx)
		}
		var err error
		if r, err = own.take(ctx, next); err != nil {
			return r, err
		}
	}
	return r, nil //nolint:nilerr // the reply tells what it lacks
}
