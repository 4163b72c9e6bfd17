//go:build !linux

package rig

import "time"

// SleepPrecisely sleeps as precisely as Go does.
func SleepPrecisely(d time.Duration) { time.Sleep(d) }
