package race

import (
	"slices"
	"strings"
	"text/template"
	"time"

	"example.com/flashsale/loadtest/rig"
)

// facts is what is known of a side when it has ended.
type facts struct {
	Counts
	settings       Settings
	struck         bool // by a fault, while a section was running
	commitDiffers  bool // from that of another side
	Workload       Workload
	overlapsInside int // overlaps of sections of one instance
	OverlapsAcross int // overlaps of sections of any keys
	Took           time.Duration
	How            Sentence // it takes the stock
	Unanswered     int      // claims without a verdict
}

// An explanation says what happened, and why, if its condition is met. Its texts are templates
// over facts.
type explanation struct {
	holds  func(facts) bool
	en, zh string
	source func(facts) function
}

// say returns the explanation of f.
func (e explanation) say(f facts) *Sentence {
	return &Sentence{filled(inEnglish, e.en, f), filled(inChinese, e.zh, f)}
}

// filled returns the text of a template in a language. What clients were never told counts as 0.
func filled(language, text string, f facts) string {
	var b strings.Builder
	t := template.New("").Option("missingkey=zero")
	template.Must(t.Parse(language + `{{define "said"}}` + text + "{{end}}"))
	if err := t.Execute(&b, f); err != nil {
		panic(err) // a test executes each
	}
	return b.String()
}

// explain returns the first explanation that the facts meet. The settings alone
// meet none: a lock explains a result only if no sections overlapped, a missing
// one only if some did, a fault only if it struck one.
func (s *session) explain(side Side, all []Side, c Counts, w Workload) (*Sentence, *Source) {
	f := facts{
		Counts: c, settings: side.Settings, struck: side.struck(), Workload: w, Took: side.took(),
		How: strategies[side.Settings.Commit],
		commitDiffers: slices.ContainsFunc(all,
			func(other Side) bool { return other.Settings.Commit != side.Settings.Commit }),
		overlapsInside: overlaps(side.Sections, func(x Section) string { return x.Instance + " " + x.Key }),
		OverlapsAcross: overlaps(side.Sections, func(Section) string { return "" }),
	}
	for code, claims := range f.Codes {
		if !slices.Contains(rig.Refusals, code) {
			f.Unanswered += claims
		}
	}
	i := slices.IndexFunc(explanations, func(e explanation) bool { return e.holds(f) })
	e := explanations[i] // the last one always holds
	return e.say(f), s.sources[e.source(f)]
}

func (f facts) unique() bool       { return slices.Contains(f.settings.Guards, "unique") }
func (f facts) stockGuarded() bool { return slices.Contains(f.settings.Guards, "stock") }

// excluded reports whether the lock is one of all instances, and the sections
// show that it let only one claim of a key in at a time.
func (f facts) excluded() bool {
	contended := f.Codes["claim_in_progress"]+f.Found() > 0 || f.OverlapsAcross == 0
	return f.settings.excludes() && contended && f.Overlaps == 0
}

// look is where a claim looks for the orders of its user.
func (f facts) look() function {
	if f.Workload.PerUser > 1 && !f.unique() {
		return countThenInsert
	}
	return checkThenAct
}

// LockedByUser reports whether claims of different users hold different locks.
func (f facts) LockedByUser() bool {
	return f.settings.Lock != "none" && f.settings.LockScope == "user"
}

// intact reports whether no promise is broken.
func (f facts) intact() bool { return f.Duplicates+f.Oversold+f.Missing+f.Undersold == 0 }
