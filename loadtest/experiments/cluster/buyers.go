package cluster

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/flashsale/loadtest/generator"
	"example.com/flashsale/loadtest/rig"
)

const (
	buyerCount  = 64
	retryPause  = 100 * time.Millisecond
	settleLimit = 20 * time.Second // for the verdict of a claim when the sale is over
	replyLimit  = 20 * time.Second
)

// buyers claim one coupon, each for one user after the other. After a reply that
// leaves the outcome open a buyer claims again for the same user, as the API
// tells its clients to.
type buyers struct {
	client *generator.Client
	signer rig.TokenSigner
	coupon string
	users  atomic.Int64
	over   context.Context // ends with the sale
	end    context.CancelFunc
	wg     sync.WaitGroup

	mu         sync.Mutex
	claims     []claim
	told       map[int64]string // the order that each user was told of, with 201 or 409
	accepted   int
	violations []string
}

// A claim is one request and the verdict of its reply: accepted, the code of a
// refusal, unavailable (503) or lost (no reply).
type claim struct {
	sent, received time.Time
	verdict        string
}

const (
	unavailable = "unavailable"
	lost        = "lost"
)

// startBuyers starts the buyers of a coupon at url.
func startBuyers(url string, signer rig.TokenSigner, coupon int64) (*buyers, error) {
	client, err := generator.NewClient(strings.TrimPrefix(url, "http://"), replyLimit)
	if err != nil {
		return nil, err
	}
	b := &buyers{client: client, signer: signer, coupon: strconv.FormatInt(coupon, 10), told: map[int64]string{}}
	b.over, b.end = context.WithCancel(context.Background())
	for range buyerCount {
		b.wg.Go(b.buy)
	}
	return b, nil
}

// stop ends the sale. It returns when every user who has claimed has a verdict.
func (b *buyers) stop() {
	b.end()
	b.wg.Wait()
	b.client.Close()
}

func (b *buyers) buy() {
	for !b.isOver() {
		b.buyFor(rig.UserID(int(b.users.Add(1))))
	}
}

func (b *buyers) isOver() bool { return b.over.Err() != nil }

// buyFor claims for user until there is a verdict.
func (b *buyers) buyFor(user int64) {
	var deadline time.Time
	for !b.claim(user) {
		time.Sleep(retryPause)
		if b.isOver() && deadline.IsZero() {
			deadline = time.Now().Add(settleLimit)
		}
		if !deadline.IsZero() && time.Now().After(deadline) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.violate("user %d has no verdict %s after the sale", user, settleLimit)
			return
		}
	}
}

// claim claims once for user and reports whether the reply is final.
func (b *buyers) claim(user int64) (final bool) {
	reply := b.client.Do(context.Background(),
		generator.AppendClaim(nil, "cluster", b.coupon, []byte(b.signer.Headers(user))))
	verdict := verdictOf(reply.Status, reply.Code)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.claims = append(b.claims, claim{reply.Due, reply.Received, verdict})
	switch verdict {
	case rig.Accepted:
		b.accepted++
		b.tell(user, reply.Order)
		return true
	case "already_claimed":
		b.tell(user, reply.Order)
		return true
	case unavailable, lost, "claim_in_progress":
		return false
	}
	b.violate("user %d was told %s", user, verdict)
	return true
}

func verdictOf(status int, code string) string {
	switch {
	case status == http.StatusCreated:
		return rig.Accepted
	case status == http.StatusServiceUnavailable:
		return unavailable
	case status == 0 || status >= 500:
		return lost
	case code != "":
		return code
	}
	return fmt.Sprint(status)
}

// tell records that user was told of order. The caller holds mu.
func (b *buyers) tell(user int64, order string) {
	if known, ok := b.told[user]; ok && known != order {
		b.violate("user %d was told of the orders %s and %s", user, known, order)
	}
	b.told[user] = order
}

const maxViolations = 10 // of a sale; more rarely add anything

// violate records a broken promise. The caller holds mu.
func (b *buyers) violate(format string, args ...any) {
	if len(b.violations) < maxViolations {
		b.violations = append(b.violations, fmt.Sprintf(format, args...))
	}
}

// orders returns the orders that users were told of.
func (b *buyers) orders() []string { return slices.Collect(maps.Values(b.told)) }

// acceptedSince returns how many claims sent after begin have been accepted.
func (b *buyers) acceptedSince(begin time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, c := range slices.Backward(b.claims) {
		if c.received.Before(begin) {
			break
		}
		if c.verdict == rig.Accepted && c.sent.After(begin) {
			n++
		}
	}
	return n
}

// awaitAccepted waits until n claims sent after begin have been accepted. It
// gives up after a minute.
func (b *buyers) awaitAccepted(ctx context.Context, begin time.Time, n int) error {
	for deadline := time.Now().Add(time.Minute); b.acceptedSince(begin) < n; {
		if !rig.Sleep(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("not %d claims were accepted within a minute", n)
		}
	}
	return nil
}
