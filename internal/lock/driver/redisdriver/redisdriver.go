// Package redisdriver holds what the lock drivers of Redis share: scripts in one
// round trip and their replies, and notifications by pub/sub.
package redisdriver
