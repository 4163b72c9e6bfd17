package main

import (
	"context"
	"sync"
	"time"
)

// events are the disturbances, as they happened.
type events struct {
	mu  sync.Mutex
	all []event
}

type event struct {
	Second float64 `json:"second"`
	What   string  `json:"what"`
	Down   float64 `json:"down_seconds"`
}

func (e *events) add(v event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, v)
}

// disturb kills one part after the other, spread over the time, and starts it
// again: both instances twice by SIGKILL and once by SIGTERM, the database
// and Redis once by SIGKILL.
func (w *world) disturb(ctx context.Context) error {
	a, b := w.pair.A, w.pair.B
	killed := func(kill func()) func() error { return func() error { kill(); return nil } }
	steps := []struct {
		what    string
		end     func() error
		restart func() error
	}{
		{"instance a killed", killed(a.Kill), a.Restart},
		{"instance b killed", killed(b.Kill), b.Restart},
		{"Redis killed, back empty", killed(w.stack.Redis.Kill), w.stack.Redis.Restart},
		{"instance a drained", a.Stop, a.Restart},
		{"database killed", killed(w.stack.MySQL.Kill), w.stack.MySQL.Restart},
		{"instance b drained", b.Stop, b.Restart},
		{"instance a killed", killed(a.Kill), a.Restart},
		{"instance b killed", killed(b.Kill), b.Restart},
	}
	for _, step := range steps {
		if !pause(ctx, w.length/time.Duration(len(steps)+2)) {
			return nil
		}
		begun := time.Now()
		if err := step.end(); err != nil {
			return err
		}
		time.Sleep(300 * time.Millisecond) // so that its absence is felt
		if err := step.restart(); err != nil {
			return err
		}
		w.events.add(event{begun.Sub(w.begun).Seconds(), step.what, time.Since(begun).Seconds()})
		w.say("%s", step.what)
	}
	return nil
}
