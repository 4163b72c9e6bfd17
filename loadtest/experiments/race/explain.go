package race

import (
	"fmt"
	"slices"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// facts is what is known of a side when it has ended.
type facts struct {
	Counts
	settings       Settings
	struck         bool // by a fault, while a section was running
	commitDiffers  bool // from that of another side
	workload       Workload
	overlapsInside int // overlaps of sections of one instance
	overlapsAcross int // overlaps of sections of any keys
	took           time.Duration
}

// An explanation says what happened, and why, if its condition is met.
type explanation struct {
	holds  func(facts) bool
	say    func(facts) Sentence
	source func(facts) function
}

// explain returns the first explanation that the facts meet. The settings alone
// meet none: a lock explains a result only if no sections overlapped, a missing
// one only if some did, a fault only if it struck one.
func (s *session) explain(side Side, all []Side, c Counts, w Workload) (*Sentence, *Source) {
	f := facts{
		Counts: c, settings: side.Settings, struck: side.struck(), workload: w, took: side.took(),
		commitDiffers: slices.ContainsFunc(all,
			func(other Side) bool { return other.Settings.Commit != side.Settings.Commit }),
		overlapsInside: overlaps(side.Sections, func(x Section) string { return x.Instance + " " + x.Key }),
		overlapsAcross: overlaps(side.Sections, func(Section) string { return "" }),
	}
	i := slices.IndexFunc(explanations, func(e explanation) bool { return e.holds(f) })
	e := explanations[i] // the last one always holds
	sentence := e.say(f).with(f.unanswered())
	return &sentence, s.sources[e.source(f)]
}

func (f facts) unique() bool       { return slices.Contains(f.settings.Guards, "unique") }
func (f facts) stockGuarded() bool { return slices.Contains(f.settings.Guards, "stock") }

// excluded reports whether the lock is one of all instances, and the sections
// show that it let only one claim of a key in at a time.
func (f facts) excluded() bool {
	contended := f.Codes["claim_in_progress"]+f.found() > 0 || f.overlapsAcross == 0
	return f.settings.excludes() && contended && f.Overlaps == 0
}

// looked says what a claim did that looked for the orders of its user too early.
func (f facts) looked() Sentence {
	if f.workload.PerUser > 1 {
		return Sentence{"counted its user's orders before another had committed counted too few", "在别人提交之前清点订单的，点少了"}
	}
	return Sentence{"looked for an order before another had committed found none", "在别人提交之前查询的，没有查到订单"}
}

// beyond names the orders beyond those that a user may have.
func (f facts) beyond() Sentence {
	if f.workload.PerUser > 1 {
		return sentence("beyond %[1]d each", "超出每人 %[1]d 张的", f.workload.PerUser)
	}
	return Sentence{"duplicates", "重复"}
}

// look is where a claim looks for the orders of its user.
func (f facts) look() function {
	if f.workload.PerUser > 1 && !f.unique() {
		return countThenInsert
	}
	return checkThenAct
}

// unanswered is what to add if claims have no verdict.
func (f facts) unanswered() (addition Sentence) {
	n := 0
	for code, claims := range f.Codes {
		if !slices.Contains(rig.Refusals, code) {
			n += claims
		}
	}
	if n > 0 {
		addition = sentence(" %[1]d claims got no verdict.", "有 %[1]d 个请求结果未知。", n)
	}
	return addition
}

func (s Sentence) with(addition Sentence) Sentence {
	return Sentence{s.EN + addition.EN, s.ZH + addition.ZH}
}

func sentence(en, zh string, args ...any) Sentence {
	return Sentence{EN: fmt.Sprintf(en, args...), ZH: fmt.Sprintf(zh, args...)}
}
