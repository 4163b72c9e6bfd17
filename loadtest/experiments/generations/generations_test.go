package generations

import (
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	labtest.Main(m, lab.RedisServer, lab.ZooKeeperServer, lab.CCompiler)
}

func TestEachFaultBreaksTheDefectiveGenerationAndNotTheOthers(t *testing.T) {
	t.Parallel()
	for _, e := range experiments {
		t.Run(strings.ReplaceAll(e.Defect, " ", "-"), func(t *testing.T) {
			t.Parallel()
			result, err := e.run(t.Context(), labtest.Lab(t))
			check.NoError(t, err)
			for _, trial := range result.trials() {
				if !trial.Verdict.Pass() {
					t.Errorf("%s: want %s, got %s", trial.Generation, trial.Expect, trial.Seen)
				}
			}
		})
	}
}
