package lock

import "time"

// A Kind says what an Event tells.
type Kind uint8

// Every Acquire ends in one of the first four; every lock it got, unless it was
// re-entered, in EventReleased, EventReleaseUnknown or EventLost.
const (
	EventAcquired       Kind = iota // Wait is how long it took
	EventRefused                    // another held it all the time; Wait
	EventUnknown                    // asking had no certain outcome, or was refused; Wait, Err
	EventReentered                  // the context's own hold was entered again
	EventWaiting                    // an Acquire begins to wait
	EventWaited                     // and has stopped waiting
	EventRenewed                    // the lease was extended
	EventRenewalUnknown             // an extension failed and will be tried again; Err
	EventReleased                   // Hold is how long it was held
	EventReleaseUnknown             // letting go had no certain outcome; Hold, Err
	EventLost                       // Hold, Err
)

// An Event is something to count. It names the class of the lock, never the
// key, so that it can label a metric.
type Event struct {
	Kind  Kind
	Class string
	Wait  time.Duration
	Hold  time.Duration
	Err   error
}
