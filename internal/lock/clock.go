package lock

import "time"

// An instant is a time by two clocks: the monotonic clock of this process, and
// the one that also runs while the machine is suspended.
type instant struct {
	time.Time
	boot time.Duration
}

func now() instant { return instant{time.Now(), sinceBoot()} }

// sub returns the time from earlier to i, by the clock that shows more.
func (i instant) sub(earlier instant) time.Duration {
	return max(i.Sub(earlier.Time), i.boot-earlier.boot)
}

// since returns the time since i.
func (i instant) since() time.Duration { return now().sub(i) }
