package redisson

import (
	"context"
	"sync"
)

// A keyedMutex is a mutex per key. Waiting goroutines acquire it in the order
// of their calls.
type keyedMutex struct {
	mu      sync.Mutex
	entries map[string]*keyedMutexEntry
}

type keyedMutexEntry struct {
	locked chan struct{} // holds one element while the key is locked
	refs   int           // the holder and all waiters
}

// lock waits until it has locked key, or returns the cause of ctx.
func (m *keyedMutex) lock(ctx context.Context, key string) (unlock func(), err error) {
	e := m.ref(key)
	select {
	case e.locked <- struct{}{}:
		return func() { <-e.locked; m.unref(key, e) }, nil
	case <-ctx.Done():
		m.unref(key, e)
		return nil, context.Cause(ctx)
	}
}

func (m *keyedMutex) ref(key string) *keyedMutexEntry {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.entries == nil {
		m.entries = make(map[string]*keyedMutexEntry)
	}
	e := m.entries[key]
	if e == nil {
		e = &keyedMutexEntry{locked: make(chan struct{}, 1)}
		m.entries[key] = e
	}
	e.refs++
	return e
}

func (m *keyedMutex) unref(key string, e *keyedMutexEntry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.refs--; e.refs == 0 {
		delete(m.entries, key)
	}
}
