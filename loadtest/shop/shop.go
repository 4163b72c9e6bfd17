// Package shop describes a shop that is not this repository's: how to claim a unit
// for a user, how to read the reply, where the users' tokens come from, how to begin
// again, and how to count what was sold. A file says all of it, see docs/judge.md.
//
// No address is contacted that the file does not name: redirects are not followed,
// and the environment's proxies are not used.
package shop

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"example.com/flashsale/internal/faultproxy"
)

// A Shop is the content of a file.
type Shop struct {
	Name   string   `yaml:"name"`
	URL    Text     `yaml:"url"`    // http://host:port, and perhaps a path
	Breaks []string `yaml:"breaks"` // the workloads under which the shop has to break a promise

	Version   Text       `yaml:"version"`
	Serve     Serve      `yaml:"serve"`     // starts the shop, whose address and database are then known
	Workloads []Workload `yaml:"workloads"` // instead of those of this repository

	Claim   Request       `yaml:"claim"`   // or that of Steps at which all wait for one another
	Steps   []Step        `yaml:"steps"`   // of a claim: one, if the file has none
	Session string        `yaml:"session"` // of steps: for each user, or for each claim
	WarmUp  Request       `yaml:"warm_up"` // opens the connections of k6 and JMeter
	Timeout time.Duration `yaml:"timeout"`
	Reply   Replies       `yaml:"reply"`

	Users Users    `yaml:"users"`
	Admin Identity `yaml:"admin"`

	MySQL      Text   `yaml:"mysql"`      // a DSN as github.com/go-sql-driver/mysql has it
	PostgreSQL Text   `yaml:"postgresql"` // a URL, as postgres://user@host/database
	SQLite     Text   `yaml:"sqlite"`     // a file
	Coupon     Text   `yaml:"coupon"`
	Begin      Begin  `yaml:"begin"`
	Totals     Totals `yaml:"totals"`

	OpenLoop OpenLoop `yaml:"open_loop"`
	Faults   []Fault  `yaml:"faults"`

	burst  int               // which of Steps has it
	served Values            // of a shop that was started
	proxy  *faultproxy.Proxy // between it and its database
}

// A Workload is one for a limit of the shop.
type Workload struct {
	Name     string        `yaml:"name"`
	Users    int           `yaml:"users"`
	Each     int           `yaml:"each"` // claims of each user; 0 is 1
	Stock    int           `yaml:"stock"`
	PerUser  int           `yaml:"per_user"` // how many orders a user may have; 0 is 1
	Coupon   Text          `yaml:"coupon"`   // instead of the shop's
	Delay    time.Duration `yaml:"delay"`    // of each request to the private database
	BreaksIn []string      `yaml:"breaks_in"`
	Report   string        `yaml:"report"` // where it is known to the public that it breaks
}

// An OpenLoop is claims at a rate that does not depend on the replies.
type OpenLoop struct {
	Rate     float64       `yaml:"rate"` // per second
	Duration time.Duration `yaml:"duration"`
}

// Read reads a file. The error names everything that is unknown, missing or wrong.
func Read(path string) (*Shop, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// Parse is Read of the content of a file.
func Parse(text []byte) (*Shop, error) {
	s := &Shop{
		Timeout: 30 * time.Second, Users: Users{First: 1}, Session: perUser,
		OpenLoop: OpenLoop{Rate: 300, Duration: 10 * time.Second},
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	var found []string
	err := decoder.Decode(s)
	if wrong, ok := errors.AsType[*yaml.TypeError](err); ok {
		found = wrong.Errors
	} else if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if len(s.Steps) == 0 {
		s.Steps = []Step{{Request: s.Claim, Burst: true}}
	} else if s.Claim.given() {
		found = append(found, "give a claim, or steps")
	}
	if found = append(found, s.problems()...); len(found) > 0 {
		return nil, problems(found, unset(string(text)))
	}
	s.burst = slices.IndexFunc(s.Steps, func(step Step) bool { return step.Burst })
	s.Claim = s.Steps[s.burst].Request
	return s, nil
}

// problems returns an error with a line for each problem. Variables of the file that are
// not set may be the reason.
func problems(list, unset []string) error {
	for i, p := range list {
		list[i] = "  " + strings.NewReplacer("field ", "", " in type shop.", " in ").Replace(p)
	}
	text := strings.Join(list, "\n")
	if len(unset) > 0 {
		text += "\nnot set in the environment: " + strings.Join(unset, ", ")
	}
	return fmt.Errorf("%d settings are wrong:\n%s", len(list), text)
}

// Title is the name of the shop, or its address, and its version.
func (s *Shop) Title() string {
	return strings.TrimSpace(cmp.Or(s.Name, string(s.URL)) + " " + string(s.Version))
}
