package race

import (
	"strings"
	"testing"

	"example.com/flashsale/loadtest/rig"
)

// Each explanation can be told of any side, in both languages.
func TestEveryExplanationIsTold(t *testing.T) {
	t.Parallel()
	for _, commit := range rig.Commits {
		f := facts{
			Counts: Counts{Overlaps: 2, Duplicates: 3, Oversold: 4, Codes: map[string]int{"claim_in_progress": 5}},
			How:    strategies[commit], Workload: Workload{PerUser: 6}, Unanswered: 7,
		}
		for _, f := range []facts{f, {How: f.How}} {
			for _, e := range explanations {
				s := e.say(f)
				told := strings.HasSuffix(s.EN, ".") && strings.HasSuffix(s.ZH, "。")
				if !told || strings.ContainsAny(s.EN+s.ZH, "{}<>") || f.How.EN == "" || f.How.ZH == "" {
					t.Errorf("%s: %+v", commit, s)
				}
				for _, text := range []string{s.EN, s.ZH} {
					if strings.Contains(text, " 7 ") != (f.Unanswered > 0) {
						t.Errorf("%d have no verdict: %s", f.Unanswered, text)
					}
				}
			}
		}
	}
}
