package generations

import (
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.ZooKeeperServer, lab.CCompiler)
}

func TestEachFaultBreaksTheDefectiveGenerationAndNotTheOthers(t *testing.T) {
	t.Parallel()
	store, err := openWitness(t.Context(), labtest.SharedMySQL(t))
	check.NoError(t, err)
	t.Cleanup(func() { _ = store.Close() })
	t.Run("all", func(t *testing.T) {
		for _, e := range experiments {
			t.Run(strings.ReplaceAll(e.Defect, " ", "-"), func(t *testing.T) {
				t.Parallel()
				result, err := e.run(t.Context(), labtest.Lab(t), store)
				check.NoError(t, err)
				for _, trial := range result.trials() {
					if !trial.Verdict.Pass() {
						t.Errorf("%s: want %s, got %s", trial.Generation, trial.Expect, trial.Seen)
					}
				}
			})
		}
	})
}
