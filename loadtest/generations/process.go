package main

import (
	"context"
	"errors"
	"sync"

	"github.com/redis/go-redis/v9"
)

var errDead = errors.New("the process is dead")

// A process is one client of the lock service, with connections of its own.
// What happens between two of its commands can be chosen: it may die there,
// or sleep while others act.
type process struct {
	nodes  []redis.UniversalClient // one, or the independent ones of a RedLock
	thread int64                   // the id of its main thread: 1, as in every process

	mu       sync.Mutex
	left     int // commands before the event
	then     func() error
	happened bool
	sent     int
}

// before arms an event: then is called before the nth command from now, and
// before each one after it. An error of then is all that the command gets.
func (p *process) before(n int, then func() error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.then, p.happened = n, then, false
}

// dieBefore lets no command through from the nth on.
func (p *process) dieBefore(n int) { p.before(n, func() error { return errDead }) }

// sleepBefore lets meanwhile happen before the nth command.
func (p *process) sleepBefore(n int, meanwhile func()) {
	p.before(n, sync.OnceValue(func() error { meanwhile(); return nil }))
}

// disarm takes the event back and reports whether it has happened.
func (p *process) disarm() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.then = nil
	return p.happened
}

// commands is how many it has sent.
func (p *process) commands() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sent
}

func (p *process) command() error {
	p.mu.Lock()
	p.left--
	p.sent++
	then := p.then
	due := then != nil && p.left <= 0
	p.happened = p.happened || due
	p.mu.Unlock()
	if !due {
		return nil
	}
	return then()
}

// counted is the hook that sees a process's commands.
type counted struct{ p *process }

func (c counted) DialHook(next redis.DialHook) redis.DialHook { return next }

func (c counted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if err := c.p.command(); err != nil {
			cmd.SetErr(err)
			return err
		}
		return next(ctx, cmd)
	}
}

func (c counted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
