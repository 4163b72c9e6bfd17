package linearizable

import (
	"math"
	"sync"
	"time"
)

// An operation is one request of a client and what it was told. Times count from
// the begin of the run.
type operation struct {
	Coupon  int64         `json:"coupon"`
	User    int64         `json:"user,omitempty"` // of a claim; 0 for a restock
	Units   int           `json:"units,omitempty"`
	Call    time.Duration `json:"call"`
	Return  time.Duration `json:"return"`
	Verdict response      `json:"verdict"`
	Order   int64         `json:"order,omitempty"`
}

// A response is what a client knows of its request.
type response string

const (
	placed         response = "placed"
	alreadyClaimed response = "already_claimed"
	soldOut        response = "sold_out"
	restocked      response = "restocked"
	noEffect       response = "no effect" // refused for another reason, and certainly not made
	unknown        response = "unknown"   // may have taken effect, or may yet
)

// never is the time of what has not happened.
const never = time.Duration(math.MaxInt64)

// A history is the operations of all clients. It is safe for concurrent use.
type history struct {
	begin      time.Time
	mu         sync.Mutex
	operations []operation
}

// record calls do, which executes o and returns its verdict and order, and adds o.
func (h *history) record(o operation, do func() (response, int64)) response {
	o.Call = time.Since(h.begin)
	o.Verdict, o.Order = do()
	o.Return = time.Since(h.begin)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.operations = append(h.operations, o)
	return o.Verdict
}

// of returns the operations on a coupon.
func (h *history) of(coupon int64) (found []operation) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.operations {
		if o.Coupon == coupon {
			found = append(found, o)
		}
	}
	return found
}

// count returns how many operations have the verdict.
func (h *history) count(v response) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, o := range h.operations {
		if o.Verdict == v {
			n++
		}
	}
	return n
}
