package lock

import "time"

// An EventKind says what an Event reports.
type EventKind uint8

// Every Acquire with a valid key and valid options ends in one of the first
// four, unless it returns ErrReentry or ctx carries a lock of the key that has
// ended. Every lock that was acquired and not re-entered ends in EventReleased,
// EventReleaseUnknown or EventLost. If it ends at once, as by Close, that may be
// reported before EventAcquired.
const (
	EventAcquired       EventKind = iota // Wait is the time it took
	EventRefused                         // another holder had the key; Wait, Err
	EventUnknown                         // the request failed or its outcome is unknown; Wait, Err
	EventReentered                       // the context's own lock was shared
	EventWaiting                         // an Acquire begins to wait
	EventWaited                          // it has stopped waiting
	EventRetried                         // a request of a wait had an unknown outcome and is repeated; Err
	EventRenewed                         // the lease was extended
	EventRenewedLate                     // it was extended, with less than a third of its TTL left
	EventRenewalUnknown                  // an extension failed and will be repeated; Err
	EventReleased                        // Hold is the time the lock was held
	EventReleaseUnknown                  // the outcome of the release is unknown; Hold, Err
	EventLost                            // Hold, Err
	EventUnnotified                      // after EventReleased: the service refused to notify the waiters
)

// An Event is something to count. It has the class of the lock and never the
// key, so that it can label a metric.
type Event struct {
	Kind  EventKind
	Class string
	Wait  time.Duration
	Hold  time.Duration
	Err   error
}
