package driver

// Len returns the number of requests that wait for their next release.
func (a *Abandoned) Len() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.requests)
}
