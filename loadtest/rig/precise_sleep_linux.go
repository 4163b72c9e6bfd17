package rig

import (
	"syscall"
	"time"
)

// SleepPrecisely sleeps in the kernel, on a thread of its own. Go's timers have a
// resolution of a millisecond in an idle process.
func SleepPrecisely(d time.Duration) {
	ts := syscall.NsecToTimespec(int64(d))
	_ = syscall.Nanosleep(&ts, nil)
}
