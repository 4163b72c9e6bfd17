package linearizable

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/flashsale/loadtest/rig"
)

// A mutant is the service with one defect. It is built from the source with one
// text replaced, which the shipped binary never contains.
type mutant struct {
	name, defect      string
	file, text, wrong string
}

var mutants = []mutant{
	{
		"api-late-mark", "a sold-out mark is kept for a second longer", "internal/coupon/cache.go",
		"e.coupon.Stock = 0\n", "e.coupon.Stock, e.expiresAt = 0, e.expiresAt.Add(time.Second)\n",
	},
	{
		"api-no-read-back", "an unknown commit is acknowledged", "internal/order/commit/read_back.go",
		"found, err := isCommitted(ctx, db, o)\n", "found, err := true, error(nil)\n",
	},
	{
		"api-stale-winner", "an order is told that has ended", "internal/order/winners/recent.go",
		"found && o.version >= c.Version", "found",
	},
	{
		"api-used-returned", "an order is returned that was used", "internal/order/life/end.go",
		"order.Returned: `used_at IS NULL AND", "order.Returned: `TRUE AND",
	},
}

// build builds the mutant as bin/NAME.
func (m mutant) build(ctx context.Context, dir string) error {
	source, err := os.ReadFile(m.file)
	if err != nil {
		return err
	}
	if n := strings.Count(string(source), m.text); n != 1 {
		return fmt.Errorf("%s: found %q %d times, want once", m.file, m.text, n)
	}
	changed := filepath.Join(dir, m.name+".go")
	if err := os.WriteFile(changed, []byte(strings.Replace(string(source), m.text, m.wrong, 1)), 0o644); err != nil {
		return err
	}
	original, err := filepath.Abs(m.file)
	if err != nil {
		return err
	}
	overlay := filepath.Join(dir, m.name+".json")
	if err := rig.WriteJSON(overlay, map[string]any{"Replace": map[string]string{original: changed}}); err != nil {
		return err
	}
	out, err := exec.CommandContext(ctx, "go", "build", "-trimpath", "-overlay", overlay, "-o",
		filepath.Join("bin", m.name), "./cmd/api").CombinedOutput()
	if err != nil {
		return fmt.Errorf("build %s: %w: %s", m.name, err, out)
	}
	return nil
}
