package lab

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"
)

// clockLibrary is libfaketime where Debian installs it, or a path that does not
// exist.
var clockLibrary = func() string {
	const pattern = "/usr/lib/*/faketime/libfaketimeMT.so.1"
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[0]
	}
	return pattern
}()

// A SteppedRedis is a Redis whose wall clock can be stepped. Its monotonic clock
// goes on.
type SteppedRedis struct {
	*Redis
	offset string // the file with the difference of the clock
}

// StartSteppedRedis starts a server on a free loopback port, on Linux only.
func StartSteppedRedis(l *Lab) (*SteppedRedis, error) {
	if _, err := l.path(ClockLibrary); err != nil {
		return nil, err
	}
	if runtime.GOOS != "linux" {
		return nil, errors.New("lab: libfaketime steps the clock of a server on Linux only")
	}
	dir, err := l.Dir("clock")
	if err != nil {
		return nil, err
	}
	s := &SteppedRedis{offset: filepath.Join(dir, "offset")}
	if err := s.Step(0); err != nil {
		return nil, err
	}
	s.Redis, err = WithFreePort(func(port int) (*Redis, error) {
		return startRedisOnPort(l, port, nil, s.environment()...)
	})
	return s, err
}

// environment lets the server ask libfaketime for the time, which reads the file
// at each call. libc comes before Redis's jemalloc: libfaketime allocates memory
// before its first reply, and jemalloc asks for the time before its first memory.
func (s *SteppedRedis) environment() []string {
	return []string{
		"LD_PRELOAD=" + clockLibrary + ":libc.so.6", "FAKETIME_TIMESTAMP_FILE=" + s.offset,
		"FAKETIME_NO_CACHE=1", "FAKETIME_DONT_FAKE_MONOTONIC=1",
	}
}

// Step sets the server's clock to the difference d from this machine's, at once.
func (s *SteppedRedis) Step(d time.Duration) error {
	temporary := s.offset + ".new"
	if err := os.WriteFile(temporary, fmt.Appendf(nil, "%+.3f\n", d.Seconds()), 0o644); err != nil {
		return err
	}
	return os.Rename(temporary, s.offset)
}
