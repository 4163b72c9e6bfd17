package redisson

import (
	"context"
	"embed"

	"github.com/redis/go-redis/v9"
)

// A kind is one of Redisson's lock formats: where it keeps its state, and the
// scripts that change it. The scripts of all kinds take the same arguments:
//
//	acquire  KEYS keys(name, owner)  ARGV ttl in ms, member, PUBLISH command, channel, wait
//	         returns the fence (0: none) if taken, else a negative number
//	release  KEYS as above  ARGV member, PUBLISH command, channel
//	         returns 1 if let go, 0 if it was not ours
//	extend   KEYS of all leases  ARGV ttl in ms, the member of each
//	         returns an array of 1 (extended) and 0 (not ours)
type kind struct {
	acquire, release, extend *redis.Script

	keys    func(name, owner string) []string
	channel func(name string) string
	member  func(owner string) string // how the lock writes its owner
}

//go:embed *.lua
var sources embed.FS

// script joins files, of which all but the last only define functions.
func script(files ...string) *redis.Script {
	var source string
	for _, file := range files {
		text, err := sources.ReadFile(file)
		if err != nil {
			panic(err) // a name in this package is misspelt
		}
		source += string(text) + "\n"
	}
	return redis.NewScript(source)
}

func same(owner string) string { return owner }

// once sends scripts that are not to be repeated: after an error they may or
// may not have run. (The client itself repeats what got no reply.)
type once struct{ redis.UniversalClient }

func (o once) Eval(ctx context.Context, text string, keys []string, args ...any) *redis.Cmd {
	return o.send(ctx, "eval", text, keys, args)
}

func (o once) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return o.send(ctx, "evalsha", sha, keys, args)
}

func (o once) send(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	words := []any{name, script, len(keys)}
	for _, key := range keys {
		words = append(words, key)
	}
	cmd := redis.NewCmd(ctx, append(words, args...)...)
	cmd.SetFirstKeyPos(3)
	_ = o.Process(ctx, unrepeated{cmd}) // cmd has the error too
	return cmd
}

type unrepeated struct{ *redis.Cmd }

func (unrepeated) NoRetry() bool { return true }
