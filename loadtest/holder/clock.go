package holder

import (
	"time"

	"golang.org/x/sys/unix"
)

// Now returns the machine's monotonic clock, which all its processes share. It is
// what System.nanoTime, time.monotonic and process.hrtime read, too.
func Now() time.Duration {
	var t unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &t) // fails for an unknown clock only
	return time.Duration(t.Nano())
}
