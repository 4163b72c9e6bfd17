package redisson

import (
	"io"
	"testing"

	"github.com/redis/go-redis/v9"

	"example.com/flashsale/internal/lock/driver/redisdriver"
)

func TestOnlyAScriptThatHasNotRunIsSentAgain(t *testing.T) {
	t.Parallel()
	for err, once := range map[error]bool{nil: true, io.EOF: true, redisdriver.Error("ERR"): true,
		redisdriver.Error("TRYAGAIN"): false, redisdriver.Error("CLUSTERDOWN"): false} {
		cmd := noRetryCmd{redis.NewCmd(t.Context())}
		cmd.SetErr(err)
		if cmd.NoRetry() != once {
			t.Errorf("%v: sent once %t, want %t", err, !once, once)
		}
	}
}
