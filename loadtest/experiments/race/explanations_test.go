package race

import (
	"testing"

	"example.com/flashsale/loadtest/rig"
)

func TestEveryStrategySaysHowItTakesTheStock(t *testing.T) {
	t.Parallel()
	for _, commit := range rig.Commits {
		if s := how(facts{settings: Settings{Commit: commit}}); s.EN == "" || s.ZH == "" {
			t.Errorf("%s: %+v", commit, s)
		}
	}
}
