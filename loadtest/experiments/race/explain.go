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
	contended := f.Codes["claim_in_progress"]+f.Codes["already_claimed"] > 0 || f.overlapsAcross == 0
	return f.settings.excludes() && contended && f.Overlaps == 0
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
