package driver_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
)

const ttl = time.Minute

// A serverReply is what a release learns from the server.
type serverReply struct {
	found, repeated bool
	err             error
}

func (r serverReply) remove() (found, repeated bool, err error) { return r.found, r.repeated, r.err }

var errNoReply = errors.New("no reply")

// Each case is a lease of one minute and the time that passes before its
// release.
func TestReleaseTellsAReleasedLeaseFromALostOne(t *testing.T) {
	t.Parallel()
	extend := func(ttl time.Duration, reply error) func(*testing.T, *driver.Expiry) {
		return func(t *testing.T, e *driver.Expiry) {
			check.ErrorIs(t, e.Extend(ttl, func() (bool, error) { return true, reply }), reply)
		}
	}
	for name, tc := range map[string]struct {
		before func(*testing.T, *driver.Expiry)
		pass   time.Duration
		reply  serverReply
		want   error
	}{
		"found":                           {reply: serverReply{found: true}},
		"found after the end":             {pass: ttl + 1, reply: serverReply{found: true}},
		"found by a repeated request":     {reply: serverReply{found: true, repeated: true}},
		"not found":                       {reply: serverReply{}, want: lock.ErrLost},
		"not found by a repeated request": {pass: ttl - 1, reply: serverReply{repeated: true}},
		"not found, repeated at the end":  {pass: ttl, reply: serverReply{repeated: true}, want: lock.ErrLost},
		"no reply":                        {reply: serverReply{err: errNoReply}, want: errNoReply},
		"extended, repeated after the first end": {before: extend(2*ttl, nil), pass: ttl,
			reply: serverReply{repeated: true}},
		"extended, repeated after the new end": {before: extend(2*ttl, nil), pass: 2 * ttl,
			reply: serverReply{repeated: true}, want: lock.ErrLost},
		"extension without a reply to a later end": {
			before: extend(2*ttl, errNoReply), pass: ttl, reply: serverReply{repeated: true}, want: lock.ErrLost,
		},
		"extension without a reply to an earlier end": {
			before: extend(ttl/2, errNoReply), pass: ttl / 2, reply: serverReply{repeated: true}, want: lock.ErrLost,
		},
		"extension without a reply, repeated before the earlier end": {
			before: extend(ttl/2, errNoReply), pass: ttl/2 - 1, reply: serverReply{repeated: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var e driver.Expiry
				e.Begin(time.Now().Add(ttl))
				if tc.before != nil {
					tc.before(t, &e)
				}
				time.Sleep(tc.pass)
				check.ErrorIs(t, e.Release(tc.reply.remove), tc.want)
				if ended := e.Ended(); ended != (tc.reply.err == nil) {
					t.Errorf("Ended = %t after the reply %+v", ended, tc.reply)
				}
			})
		})
	}
}

// The request of one removes the lease. The other's, a repeated one, finds none.
func TestOneOfTwoConcurrentReleasesSucceeds(t *testing.T) {
	t.Parallel()
	var e driver.Expiry
	e.Begin(time.Now().Add(ttl))
	var inner error
	outer := e.Release(func() (found, repeated bool, err error) {
		inner = e.Release(serverReply{found: true}.remove)
		return false, true, nil
	})
	if inner != nil || !errors.Is(outer, lock.ErrLost) {
		t.Errorf("Release = %v during another that returns %v, want nil and ErrLost", inner, outer)
	}
}

// The extension finds no lease, because the release was faster on the server. Its reply
// comes first.
func TestReleaseIsNotMistakenForALoss(t *testing.T) {
	t.Parallel()
	for reply, want := range map[serverReply]error{
		{found: true}:     nil,
		{repeated: true}:  nil,
		{}:                lock.ErrLost, // both found none
		{err: errNoReply}: errNoReply,
	} {
		var e driver.Expiry
		e.Begin(time.Now().Add(ttl))
		err := e.Release(func() (found, repeated bool, err error) {
			check.ErrorIs(t, e.Extend(ttl, refuse), lock.ErrLost)
			return reply.remove()
		})
		if !errors.Is(err, want) {
			t.Errorf("Release with the reply %+v = %v, want %v", reply, err, want)
		}
	}
}

// refuse is the reply of a server that has no lease to extend.
func refuse() (extended bool, err error) { return false, nil }

// A reply to an extension counts for nothing when the lease is lost, or was released after
// the server had extended it.
func TestEndedLeaseIsNotExtended(t *testing.T) {
	t.Parallel()
	lose := func(e *driver.Expiry) { check.ErrorIs(t, e.Extend(ttl, refuse), lock.ErrLost) }
	for _, finish := range []func(*driver.Expiry){lose, (*driver.Expiry).End} {
		var e driver.Expiry
		e.Begin(time.Now().Add(ttl))
		err := e.Extend(ttl, func() (bool, error) {
			finish(&e)
			return true, nil
		})
		if !errors.Is(err, lock.ErrLost) || !e.Ended() {
			t.Errorf("Extend = %v, ended %t, want ErrLost and true", err, e.Ended())
		}
	}
}
