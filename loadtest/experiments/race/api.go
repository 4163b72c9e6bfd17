package race

import (
	"encoding/json"
	"time"

	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/verdict"
)

// A Race is bursts of the same claims, each at a service of its own, one after the other. All
// times of a side are microseconds since its barrier: the moment at which its
// claims were released. The client, the instances and the samples read the same
// clock, the wall clock of this machine.
type Race struct {
	Version     int             `json:"version"` // of this format
	ID          string          `json:"id"`
	Started     time.Time       `json:"started"`
	State       State           `json:"state"`
	Phase       string          `json:"phase"` // what is done now, for people
	Error       string          `json:"error"`
	Environment rig.Environment `json:"environment"`
	Workload    Workload        `json:"workload"`
	Sides       []Side          `json:"sides"`
}

// Version is the version of Race's JSON form.
const Version = 4

// A State is how far a race is. A race that failed has an Error.
type State string

// The states, in the order in which a race goes through them; it ends in one of
// the last two.
const (
	Starting State = "starting"
	Running  State = "running"
	Ended    State = "ended"
	Failed   State = "failed"
)

// A Workload is what all sides of a race share.
type Workload struct {
	Users         int `json:"users"`
	ClaimsPerUser int `json:"claims_per_user"` // simultaneous
	PerUser       int `json:"per_user"`        // orders that each user may have
	Stock         int `json:"stock"`
	Segments      int `json:"segments"` // rows that the stock is split over
	PauseMS       int `json:"pause_ms"` // that each claim spends in its lock before it commits
}

// at returns w as the rig has it, at a service with these settings: a claim that the lock
// of its user refuses is not repeated, so that only one is sure to be made.
func (w Workload) at(s Settings) rig.Workload {
	limit := w.PerUser
	if s.Lock != "none" && s.LockScope == "user" {
		limit = 1
	}
	return rig.Workload{Users: w.Users, Each: w.ClaimsPerUser, Stock: w.Stock, Limit: limit, Rounds: 1}
}

// Claims returns how many claims a side gets.
func (w Workload) Claims() int { return w.Users * w.ClaimsPerUser }

// wanted returns how many orders the users may have of those that they claim.
func (w Workload) wanted() int { return w.Users * min(w.ClaimsPerUser, w.PerUser) }

// Settings are the choices of one side.
type Settings struct {
	Lock      string   `json:"lock"`       // as LOCK
	LockScope string   `json:"lock_scope"` // as LOCK_SCOPE
	Guards    []string `json:"guards"`     // in force: unique, stock
	Commit    string   `json:"commit"`     // as COMMIT
	Instances int      `json:"instances"`
	Redis     string   `json:"redis"`    // the topology of the Redis that the lock uses
	LeaseMS   int      `json:"lease_ms"` // LOCK_TTL in milliseconds
	Fault     string   `json:"fault"`    // as in faults.go
}

// A Side is one burst and its outcome.
type Side struct {
	Settings Settings  `json:"settings"`
	Claims   []Claim   `json:"claims"`
	Sections []Section `json:"sections"`
	Samples  []Sample  `json:"samples"`
	Outcome
}

// An Outcome is what became of a burst. Its members are null until the side has
// ended.
type Outcome struct {
	Coupon   string          `json:"coupon"`
	Barrier  time.Time       `json:"barrier"`
	Struck   *Struck         `json:"struck"` // null without a fault
	Audit    json.RawMessage `json:"audit"`  // GET /coupons/{id}/audit: the service's own
	Counts   *Counts         `json:"counts"`
	Promises []Promise       `json:"promises"`
}

// A Claim is one request. Answered is -1 while it is in flight. Code is the code
// of the problem, or empty for a 201. A Claim without a reply has status 0 and
// the code no_reply.
type Claim struct {
	N        int    `json:"n"` // from 0; Claims[n] has it
	User     string `json:"user"`
	Instance string `json:"instance"` // that replied
	Sent     int64  `json:"sent"`
	Answered int64  `json:"answered"`
	Status   int    `json:"status"`
	Code     string `json:"code"`
	Order    string `json:"order"` // the acknowledged order's id
}

// A Section is the critical section of a claim, as its instance reports it: from
// the grant of the lock, which it began to wait for at Wanted, to the moment
// before its release. Without a lock it is the code that a lock would protect.
//
// Steps are the statements of the claim's own transaction. One that it shares with
// other claims is not reported.
type Section struct {
	Claim    string `json:"claim"` // the claim's N
	Key      string `json:"key"`
	User     string `json:"user"`
	Instance string `json:"instance"`
	Wanted   int64  `json:"wanted"`
	Granted  int64  `json:"granted"`
	Released int64  `json:"released"`
	Steps    []Step `json:"steps"`
}

// A Step is a statement, from when it was sent until its reply.
type Step struct {
	SQL    string `json:"sql"` // without its arguments
	Begin  int64  `json:"begin"`
	End    int64  `json:"end"`
	Result string `json:"result"` // what a query read first, or how many rows were changed
	Error  string `json:"error,omitempty"`
}

// A Sample is what the database has at one moment, and how many claims are then
// in flight.
type Sample struct {
	T        int64 `json:"t"`
	Stock    int   `json:"stock"`
	Orders   int   `json:"orders"`
	InFlight int   `json:"in_flight"`
}

// Counts is the rig's audit of a side: what the database has after the last
// reply, and what the clients were told.
type Counts struct {
	rig.Totals
	InitialStock int            `json:"initial_stock"`
	Stock        int            `json:"stock"` // left
	Accepted     int            `json:"accepted"`
	Codes        map[string]int `json:"codes"`     // of the claims that were not accepted
	Instances    map[string]int `json:"instances"` // replies of each
	Overlaps     int            `json:"overlaps"`  // sections that were entered while another of their key was running
	MaxInFlight  int            `json:"max_in_flight"`
}

// A Promise says what has become of one of the three promises of a sale, and by how
// much it is broken. It is void if it was not put to the test.
type Promise struct {
	ID      string          `json:"id"` // stock, one_each, all_sold
	Verdict verdict.Verdict `json:"verdict"`
	Number  int             `json:"number"`
}

// A Sentence is a text in both languages of the page.
type Sentence struct {
	EN string `json:"en"`
	ZH string `json:"zh"`
}

// An Event is what has happened in a race. A message of GET /races/{id}/events has an
// array of them. A claim replaces the one with the same N.
type Event struct {
	Name string `json:"name"` // state, claim, section, sample, side (when it has ended), end
	Side int    `json:"side"`
	Data any    `json:"data"` // Progress, Claim, Section, Sample, Outcome, Progress
}

// A Progress is how far a race is.
type Progress struct {
	State State  `json:"state"`
	Phase string `json:"phase"`
	Error string `json:"error"`
}

// A Request is the body of POST /races.
type Request struct {
	Workload Workload   `json:"workload"`
	Sides    []Settings `json:"sides"`
}

// Options is what GET /options returns: what a Request may choose.
type Options struct {
	Locks       []string        `json:"locks"`
	Scopes      []string        `json:"scopes"`
	Guards      []string        `json:"guards"`
	Commits     []string        `json:"commits"`
	Instances   []int           `json:"instances"`
	Redis       []string        `json:"redis"`
	Leases      []int           `json:"leases"`
	Faults      []string        `json:"faults"`
	Limits      Limits          `json:"limits"`
	Presets     []Request       `json:"presets"`
	Environment rig.Environment `json:"environment"`
}

// Limits are the largest values of a Request.
type Limits struct {
	Sides    int `json:"sides"`
	Users    int `json:"users"`
	Claims   int `json:"claims"` // users × claims_per_user
	PerUser  int `json:"per_user"`
	Stock    int `json:"stock"`
	Segments int `json:"segments"`
	PauseMS  int `json:"pause_ms"`
}

// A Problem is the body of a response that is not a success, with one entry in
// Errors for each wrong choice.
type Problem struct {
	Title  string       `json:"title"`
	Status int          `json:"status"`
	Code   string       `json:"code"`
	Detail string       `json:"detail,omitempty"`
	Errors []FieldError `json:"errors,omitempty"`
}

// A FieldError says what is wrong with one field of a Request.
type FieldError struct {
	Field   string   `json:"field"` // like sides.0.lock
	Message Sentence `json:"message"`
}
