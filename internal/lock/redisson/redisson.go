// Package redisson implements the locks, semaphores and latches of Redisson
// (3.24 to 4.7) in Redisson's wire format: the same keys, value types and
// messages. Go and Java processes can share each of them.
//
//	Java: RedissonClient           Go: Client
//	getLock, getSpinLock           Lock
//	getFairLock                    FairLock
//	getFencedLock                  FencedLock
//	getReadWriteLock               ReadLock, WriteLock
//	getPermitExpirableSemaphore    PermitExpirableSemaphore
//	getSemaphore                   Semaphore
//	getCountDownLatch              CountDownLatch
//	getMultiLock                   NewMultiLock
//
// A lock in Java is bound to one name. Here it is a lock.Locker, which takes
// the name as the key of each call. Package lock adds what Java's RLock does
// beyond one attempt: waiting, renewal by a watchdog, and reentrancy.
//
// In Java the owner of a lock is <client's UUID>:<threadId>. Here it is
// <client's UUID>:<number>, with a new number for each lease. The hold count
// of a lease is therefore always 1, and a script that is sent again after a
// lost reply changes nothing. Reentrancy is not visible in Redis.
//
// A failover to a replica that has not received a lock, or a restart of Redis
// without its data, frees the lock while its holder still uses it.
//
// Redisson's unlock latch (redisson_unlock_latch:…) is not written: only the
// Java client that wrote it reads it. Here the lease keeps the result of its
// release.
package redisson

import (
	"fmt"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock"
	"example.com/flashsale/internal/lock/driver"
	"example.com/flashsale/internal/lock/driver/redisdriver"
)

// A Client is to Go what a RedissonClient is to Java. It has a UUID, which is
// part of the owner of each of its leases. It need not be closed: without
// waiters it has no connection and no goroutine beside those of rdb.
type Client struct {
	rdb      redis.UniversalClient
	id       string
	seq      atomic.Int64
	messages *redisdriver.Subscriber
	publish  string // the command by which the scripts send messages

	abandoned driver.Abandoned
}

// New returns a client of rdb with a new UUID. Its messages to waiters are Redisson's
// default for Redis 7 or later: by sharded pub/sub in a cluster, and otherwise by the plain
// one. Java's clients must use the same: otherwise they miss each other's messages.
func New(rdb redis.UniversalClient) *Client {
	return &Client{rdb: rdb, id: newID(), messages: redisdriver.NewSubscriber(rdb),
		publish: redisdriver.PublishCommand(rdb)}
}

// newID returns a random UUID with the version digit 8, which RFC 9562 leaves
// to the application. Java's UUIDs have version 4. The fair lock's scripts tell
// Go waiters from Java waiters by this digit: a Go waiter sends a heartbeat
// every second and can be removed after 3 s of silence, a Java waiter cannot.
func newID() string {
	id := uuid.New()
	id[6] = id[6]&0x0f | 0x80
	return id.String()
}

// newOwner returns the owner of a new lease.
func (c *Client) newOwner() string {
	return fmt.Sprintf("%s:%d", c.id, c.seq.Add(1))
}

// prefixed and suffixed return the names of a lock's side keys and channels, by
// Redisson's rule: the lock's name becomes their hash tag, unless it has one.
func prefixed(prefix, name string) string { return prefix + ":" + tagged(name) }
func suffixed(name, suffix string) string { return tagged(name) + ":" + suffix }

// sideKey matches what Redisson's rule for side keys can make of a name.
var sideKey = regexp.MustCompile(`^redisson_lock_(queue|timeout|token):|\{.*:(timeout$|rwlock_timeout:)`)

// checkName refuses a name that is, or may be, another lock's side key.
func checkName(name string) error {
	if sideKey.MatchString(name) {
		return fmt.Errorf("%w: %s is a key that Redisson writes beside its locks", lock.ErrInvalid, name)
	}
	return nil
}

func tagged(name string) string {
	if strings.Contains(name, "{") {
		return name
	}
	return "{" + name + "}"
}
