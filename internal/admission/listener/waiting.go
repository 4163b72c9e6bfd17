package listener

import "time"

// enqueue makes c wait, or refuses it.
func (l *Listener) enqueue(c *Conn) {
	if !l.forecast.Join(time.Now(), l.waiting.Len(), l.limits, time.Time{}) {
		l.refuse(c)
		return
	}
	if l.waiting.Len() == 0 {
		time.AfterFunc(l.longest(), l.refuseLate)
	}
	l.waiting.PushBack(c)
	l.update() // which refuses c if too many wait
}

// maxWaiting returns how many connections may wait. While requests wait on half of the
// open connections and no more may be opened, others come in only as one response in
// handOver closes its connection: as many may wait as come in while each open one gets a
// response.
func (l *Listener) maxWaiting() int {
	if len(l.open) >= l.conns && l.requests.Len() >= max(1, l.conns/2) && !l.draining {
		return max(1, l.conns/handOver)
	}
	return waitingShare * l.conns
}

// shed refuses the connections that came last, if more wait than may.
func (l *Listener) shed() {
	for l.waiting.Len() > l.maxWaiting() {
		l.refuse(l.waiting.Remove(l.waiting.Back()).(*Conn))
	}
}

// longest returns how long a connection waits at most.
func (l *Listener) longest() time.Duration { return max(l.limits.Burst, l.limits.Standing) }

// refuseLate refuses the connections that have waited for the longest time. If
// others remain, it will run again.
func (l *Listener) refuseLate() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for e := l.waiting.Front(); e != nil; e = l.waiting.Front() {
		c := e.Value.(*Conn)
		if left := l.longest() - time.Since(c.place.Time()); left > 0 {
			time.AfterFunc(left, l.refuseLate)
			break
		}
		l.waiting.Remove(e)
		l.refuse(c)
	}
	l.update()
}
