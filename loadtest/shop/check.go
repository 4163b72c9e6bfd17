package shop

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// problems returns what is missing or wrong in s.
func (s *Shop) problems() []string {
	var c checker
	c.check(s.URL != "" || s.Serve.Run != "", "url is missing")
	c.base(string(s.URL))
	c.claim(s)
	c.check(s.Reply.Accepted.given(), "reply: accepted is missing: a status, a pointer, or matches")
	c.check(s.Reply.Order.given() || s.Totals.SQL.OrderIDs == "" && !s.Totals.Order.given(),
		"reply: order is missing: totals look for it")
	c.check(s.Timeout > 0 && s.OpenLoop.Rate > 0 && s.OpenLoop.Duration > 0 && s.Totals.After >= 0,
		"timeout, and rate and duration of open_loop, have to be above 0")
	c.identities(s)
	c.placeholders(s)
	c.sql(s)
	c.serve(s)
	for i, f := range s.Faults {
		c.check(f.Name != "" && f.Stop != "" && f.Start != "" && f.For > 0, "faults: number %d lacks name, stop, start or for",
			i+1)
	}
	return c
}

// A checker collects problems.
type checker []string

func (c *checker) check(ok bool, format string, args ...any) {
	if !ok {
		*c = append(*c, fmt.Sprintf(format, args...))
	}
}

func (c *checker) base(text string) {
	u, err := url.Parse(text)
	c.check(text == "" || err == nil && u.Scheme == "http" && u.Host != "" && u.RawQuery == "" &&
		!strings.Contains(u.Hostname(), ":"), // an address of IPv6
		"url: %q is not http://host:port over IPv4; a shop behind TLS is judged at the servers behind it", text)
}

// claim checks the steps of a claim, and that each has what its placeholders stand for.
func (c *checker) claim(s *Shop) {
	bursts, known := 0, []string{"user", "token", "coupon", key}
	for i, step := range s.Steps {
		where := "claim"
		if len(s.Steps) > 1 {
			where = fmt.Sprintf("steps: number %d", i+1)
		}
		address := string(step.URL)
		c.check(step.given(), "%s: url is missing", where)
		c.check(address == "" || strings.HasPrefix(address, "/") || i > 0 && strings.HasPrefix(address, "{{"),
			"%s: url has to begin with /: it is added to the shop's url", where)
		if step.Burst {
			known = append(known, "number")
		}
		c.request(where, step.Request, known...)
		c.check(len(step.Form) == 0 || step.Body == "", "%s: give a form or a body", where)
		for _, name := range slices.Sorted(maps.Keys(step.Keep)) {
			c.check(step.Keep[name].given(), "%s: keep: %s is empty", where, name)
			known = append(known, name)
		}
		c.check(i < len(s.Steps)-1 || !step.Expect.given() && len(step.Keep) == 0,
			"%s: expect and keep are of steps before the last; reply says how the last one's reply is read", where)
		c.check(step.Wait >= 0, "%s: wait is below 0", where)
		if step.Burst {
			bursts++
		}
	}
	c.check(bursts == 1, "steps: %d have burst: true, want one: there all wait for one another", bursts)
	c.check(s.Session == perUser || s.Session == perClaim, "session: %q is neither user nor claim", s.Session)
}

// serve checks how the shop is started, and the workloads for it.
func (c *checker) serve(s *Shop) {
	private := []string{"", mariaDB, postgreSQL, sqlite}
	c.check(slices.Contains(private, s.Serve.Database), "serve: database: %q is none of mariadb, postgresql and sqlite",
		s.Serve.Database)
	c.check(s.Serve == Serve{} || s.Serve.Run != "", "serve: run is missing")
	c.check(s.Serve.Run == "" || s.URL == "", "url: a shop that serve starts has an address of its own")
	proxied := s.Serve.Database == mariaDB || s.Serve.Database == postgreSQL
	for i, w := range s.Workloads {
		c.check(w.Name != "" && w.Users > 0 && w.Stock > 0 && w.Each >= 0 && w.PerUser >= 0 && w.Delay >= 0,
			"workloads: number %d lacks name, users or stock, or has a number below 0", i+1)
		c.check(w.Delay == 0 || proxied, "workloads: %s: delay needs serve with a database that has an address", w.Name)
	}
}

// identities checks that there are tokens where requests need them.
func (c *checker) identities(s *Shop) {
	claims := slices.ContainsFunc(s.Steps, func(step Step) bool { return uses(step.Request, "token") })
	c.check(!claims || s.Users.given(),
		"users: the claim has {{token}}, and none of token, file, jwt.secret and login is given, or it is empty")
	admin := uses(s.Totals.Route.Request, "admin") || uses(s.Totals.Order, "admin") ||
		slices.ContainsFunc(s.Begin.Requests, func(r Request) bool { return uses(r, "admin") })
	c.check(!admin || s.Admin.given(),
		"admin: a request has {{admin}}, and none of token, file, jwt.secret and login is given, or it is empty")
	for _, i := range []Identity{s.Users.Identity, s.Admin} {
		c.check(!i.Login.given() || i.Login.Reply.given(), "login: token is missing: a pointer, or matches")
	}
}

func uses(r Request, name string) bool {
	for _, t := range r.texts() {
		if slices.Contains(t.names(), name) {
			return true
		}
	}
	return false
}

// placeholders checks that all placeholders are known where they stand.
func (c *checker) placeholders(s *Shop) {
	c.request("warm_up", s.WarmUp, "user", "token", "coupon")
	for _, i := range []Identity{s.Users.Identity, s.Admin} {
		c.request("login", i.Login.Request, "user", "coupon")
		for name, t := range i.JWT.Claims {
			c.template("jwt: "+name, t, "user")
		}
	}
	for _, r := range s.Begin.Requests {
		c.request("begin", r, "stock", "coupon", "per_user", "admin")
	}
	c.request("totals: route", s.Totals.Route.Request, "coupon", "admin")
	c.request("totals: order", s.Totals.Order, "coupon", "admin", "user", "token", "order")
}

func (c *checker) request(where string, r Request, known ...string) {
	all := r.texts()
	for _, what := range slices.Sorted(maps.Keys(all)) {
		c.template(where+": "+what, all[what], known...)
	}
	for _, name := range slices.Sorted(maps.Keys(r.Headers)) {
		c.check(!slices.Contains(ours, http.CanonicalHeaderKey(name)),
			"%s: %s is for this program to say: url names the host, and no reply is decompressed", where, name)
	}
}

// ours are headers that a file cannot set.
var ours = []string{"Host", "Content-Length", "Accept-Encoding"}

func (c *checker) template(where string, t Text, known ...string) {
	for _, name := range t.names() {
		c.check(slices.Contains(known, name), "%s: {{%s}} is not known here; want {{%s}}", where, name,
			strings.Join(known, "}}, {{"))
	}
}

// sql checks the statements, and that there is a database for them.
func (c *checker) sql(s *Shop) {
	q := s.Totals.SQL
	all := slices.Clone(s.Begin.SQL)
	for _, t := range []Text{q.Stock, q.Orders, q.Users, q.MostPerUser, q.OrderIDs, q.OrderUsers} {
		if t != "" {
			all = append(all, t)
		}
	}
	c.check(len(all) == 0 || s.database().name != "" || s.Serve.Database != "",
		"mysql: the DSN of the database that sql needs is missing; or give postgresql, or sqlite")
	for _, t := range all {
		c.template("sql: "+string(t), t, "stock", "coupon", "per_user")
	}
}
