package etcdlock

import (
	"context"
	"errors"
	"io"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// requestTimeout bounds a request with its repetitions. While etcd is unavailable, the
// client itself waits until the context ends, and TryLock may have one without an end.
const requestTimeout = 2 * time.Second

// repeatLost calls request, and again up to three times while its outcome is
// unknown. It reports whether it has called request more than once. The client
// itself repeats only reads.
func repeatLost(ctx context.Context, request func(context.Context) error) (repeated bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	pause := 10 * time.Millisecond
	for range 3 {
		if err = request(ctx); !isUnavailable(err) {
			return repeated, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return repeated, err
		}
		pause *= 2
		repeated = true
	}
	return repeated, request(ctx)
}

// isUnavailable reports whether the connection broke, or whether etcd itself does
// not know the outcome, as after a change of the leader.
func isUnavailable(err error) bool {
	if replied, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return replied.Code() == codes.Unavailable
	}
	return status.Code(err) == codes.Unavailable || errors.Is(err, io.EOF) // of a stream
}
