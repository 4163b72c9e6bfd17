package redisson

import "sync"

// A waiterCount counts the waiters of each key.
type waiterCount struct {
	mu     sync.Mutex
	counts map[string]int
}

// add changes the count of key by n.
func (w *waiterCount) add(key string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts == nil {
		w.counts = make(map[string]int)
	}
	if w.counts[key] += n; w.counts[key] == 0 {
		delete(w.counts, key)
	}
}

// has reports whether key has a waiter.
func (w *waiterCount) has(key string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.counts[key] > 0
}
