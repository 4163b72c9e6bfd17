package judge

import (
	"fmt"
	"slices"
	"strings"
	"syscall"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/shop"
)

// A Workload is claims, and the load generator that sends them.
type Workload struct {
	rig.Workload
	Name  string
	By    string // the load generator, or that there is no common moment
	Open  bool   // the claims are not sent at one moment
	Send  rig.Generator
	Fault string        // what is stopped and started meanwhile
	Limit shop.Workload // of the shop's file, if it is one of those
}

// PerUser is how many orders a user may have.
func (w Workload) PerUser() int { return max(1, w.Limit.PerUser) }

// Title describes the workload in a table.
func (w Workload) Title() string {
	s := fmt.Sprintf("%s × %d, %s", count(w.Users, "user"), w.Each, count(w.Stock, "unit"))
	if w.By != "" {
		s += ", " + w.By
	}
	if w.Fault != "" {
		s += ", " + w.Fault + " stopped"
	}
	if w.PerUser() > 1 {
		s += fmt.Sprintf(", at most %d each", w.PerUser())
	}
	if w.Limit.Name != "" {
		s = w.Name + ": " + s
	}
	if w.Limit.Delay > 0 {
		s += fmt.Sprintf(", database %s away", w.Limit.Delay)
	}
	return s
}

// count says how many there are of a thing.
func count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// workloads returns all workloads that WORKLOADS may name. The first of them are sent
// when it names none.
func workloads(s *shop.Shop) (chosen, more []Workload) {
	rate := fmt.Sprintf("%g a second", s.OpenLoop.Rate)
	open := Workload{Workload: openLoop(s), Name: "open-loop", By: rate, Open: true, Send: Open}
	chosen = []Workload{
		burst(rig.OneUser), burst(rig.ManyUsers), burst(rig.SevenEach),
		by("k6", rig.K6, rig.SevenEach), by("jmeter", rig.JMeter, rig.ManyUsers),
		open, crowd(),
	}
	for _, f := range s.Faults {
		faulty := open
		faulty.Name, faulty.Fault, faulty.Send = "fault-"+f.Name, f.Name, underFault(f)
		chosen = append(chosen, faulty)
	}
	more = []Workload{
		by("k6", rig.K6, rig.OneUser), by("k6", rig.K6, rig.ManyUsers),
		by("jmeter", rig.JMeter, rig.OneUser), by("jmeter", rig.JMeter, rig.SevenEach),
	}
	if len(s.Workloads) > 0 {
		chosen, more = limits(s), slices.Concat(chosen, more)
	}
	if !s.Plain() { // they send one request, and read its status and body
		other := func(w Workload) bool { return w.By == "k6" || w.By == "jmeter" }
		chosen, more = slices.DeleteFunc(chosen, other), slices.DeleteFunc(more, other)
	}
	return chosen, more
}

// burst returns a burst that this program sends.
func burst(w rig.Workload) Workload { return Workload{Workload: w, Name: w.Script, Send: Burst} }

// limits returns the workloads of the shop's file.
func limits(s *shop.Shop) (own []Workload) {
	for _, l := range s.Workloads {
		w := rig.Workload{Users: l.Users, Each: max(1, l.Each), Stock: l.Stock, Limit: l.PerUser, Rounds: 1}
		own = append(own, Workload{Workload: w, Name: l.Name, Send: Burst, Limit: l})
	}
	return own
}

// by returns a burst that another program sends.
func by(program string, send rig.Generator, w rig.Workload) Workload {
	return Workload{Workload: w, Name: program + "-" + w.Script, By: program, Send: send}
}

// choose returns the workloads of the comma-separated names.
func choose(s *shop.Shop, names string) (chosen []Workload, err error) {
	chosen, more := workloads(s)
	all := slices.Concat(chosen, more)
	if err := known(all, s.Breaks, "breaks"); err != nil || names == "" {
		return chosen, err
	}
	wanted := strings.Split(names, ",")
	if err := known(all, wanted, "WORKLOADS"); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(w Workload) bool { return !slices.Contains(wanted, w.Name) }), nil
}

// known returns an error if a workload that setting names does not exist.
func known(all []Workload, names []string, setting string) error {
	var known []string
	for _, w := range all {
		known = append(known, w.Name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("%s: there is no workload %q; want one of %s", setting, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// openLoop returns two claims for each of as many users, and half as many units.
func openLoop(s *shop.Shop) rig.Workload {
	users := max(1, int(s.OpenLoop.Rate*s.OpenLoop.Duration.Seconds()/2))
	return rig.Workload{Users: users, Each: 2, Stock: (users + 1) / 2, Rounds: 1}
}

const (
	crowdSize = 12_000
	// spareFiles is how many files this process has open beside its connections.
	spareFiles = 500
)

// crowd is a claim of each of 12,000 users at one moment, or of as many as this process
// may have connections.
func crowd() Workload {
	n, by := crowdSize, ""
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err == nil && limit.Cur < crowdSize+spareFiles {
		n = max(1, int(limit.Cur)-spareFiles)
		by = fmt.Sprintf("instead of %d, for want of open files: ulimit -n is %d", crowdSize, limit.Cur)
	}
	n = min(n, generator.MaxConnections)
	claims := rig.Workload{Users: n, Each: 1, Stock: 1000, Rounds: 1}
	return Workload{Workload: claims, Name: "crowd", By: by, Send: Burst}
}
