package redisson

import (
	"context"
	"embed"

	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var scriptFiles embed.FS

// script concatenates files to one script. All files but the last only define
// functions.
func script(files ...string) *redis.Script { return scriptAfter("", files...) }

// freeing returns a script that the server also runs when its memory is full.
func freeing(files ...string) *redis.Script { return scriptAfter("#!lua flags=allow-oom\n", files...) }

func scriptAfter(source string, files ...string) *redis.Script {
	for _, file := range files {
		text, err := scriptFiles.ReadFile("lua/" + file)
		if err != nil {
			panic(err) // a file name in this package is misspelt
		}
		source += string(text) + "\n"
	}
	return redis.NewScript(source)
}

// A noRetryClient lets each script run once. go-redis retries a command that got
// no reply; a script that is not idempotent would then run twice. After an
// error the script may or may not have run.
type noRetryClient struct{ redis.UniversalClient }

// Eval implements redis.Scripter.
func (c noRetryClient) Eval(ctx context.Context, source string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, "eval", source, keys, args)
}

// EvalSha implements redis.Scripter.
func (c noRetryClient) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, "evalsha", sha, keys, args)
}

func (c noRetryClient) send(ctx context.Context, command, script string, keys []string, args []any) *redis.Cmd {
	fields := []any{command, script, len(keys)}
	for _, key := range keys {
		fields = append(fields, key)
	}
	cmd := redis.NewCmd(ctx, append(fields, args...)...)
	cmd.SetFirstKeyPos(3)
	_ = c.Process(ctx, noRetryCmd{cmd}) // cmd keeps the error
	return cmd
}

type noRetryCmd struct{ *redis.Cmd }

// NoRetry implements redis.Cmder. A node of a cluster whose slot is being moved, or that lacks the
// others, has not run the script: a release that ended there would leave the lock to its expiry.
func (c noRetryCmd) NoRetry() bool {
	return !redis.HasErrorPrefix(c.Err(), "TRYAGAIN") && !redis.HasErrorPrefix(c.Err(), "CLUSTERDOWN")
}
