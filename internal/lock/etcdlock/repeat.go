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

// repeatLost calls request, and again up to three times while its outcome is
// unknown. It reports whether it has called request more than once. The client
// itself repeats only reads.
func repeatLost(ctx context.Context, request func() error) (repeated bool, err error) {
	pause := 10 * time.Millisecond
	for range 3 {
		if err = request(); !isUnavailable(err) {
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
	return repeated, request()
}

// isUnavailable reports whether the connection broke, or whether etcd itself does
// not know the outcome, as after a change of the leader.
func isUnavailable(err error) bool {
	if replied, ok := errors.AsType[rpctypes.EtcdError](err); ok {
		return replied.Code() == codes.Unavailable
	}
	return status.Code(err) == codes.Unavailable || errors.Is(err, io.EOF) // of a stream
}
