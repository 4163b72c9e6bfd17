//go:build !linux

package lock

import "time"

// sinceBoot returns 0: only Linux has the clock. The time for which a machine is
// suspended is then not counted.
func sinceBoot() time.Duration { return 0 }
