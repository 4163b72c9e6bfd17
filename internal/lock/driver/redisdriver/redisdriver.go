// Package redisdriver holds what the lock drivers of Redis share: scripts in one
// round trip, the extension of many leases, and notifications by pub/sub.
package redisdriver
