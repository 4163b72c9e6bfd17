package lab

import (
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// A SteppedRedis is a Redis whose wall clock can be stepped. Its monotonic clock
// goes on.
type SteppedRedis struct {
	*Redis
	offset string // the file with the difference of the clock
}

// preloads are the sources of what servers preload. The clock is not libfaketime: that
// asks the allocator for memory, and jemalloc asks it for the time; with libc's allocator
// before jemalloc Redis 8 and Valkey 8 crash, which call jemalloc by its own names.
//
//go:embed preload/*.c
var preloads embed.FS

// StartSteppedRedis starts a server on a free loopback port, on Linux only.
func StartSteppedRedis(l *Lab) (*SteppedRedis, error) {
	if runtime.GOOS != "linux" {
		return nil, errors.New("lab: the clock of a server can be stepped on Linux only")
	}
	dir, err := l.Dir("clock")
	if err != nil {
		return nil, err
	}
	library, err := buildPreload(l, "clock")
	if err != nil {
		return nil, err
	}
	s := &SteppedRedis{offset: filepath.Join(dir, "offset")}
	if err := s.Step(0); err != nil {
		return nil, err
	}
	s.Redis, err = WithFreePort(func(port int) (*Redis, error) {
		return startRedisOnPort(l, port, nil, "LD_PRELOAD="+library, "STEPPED_CLOCK="+s.offset)
	})
	return s, err
}

// buildPreload compiles a source of preloads, and returns the path of the library.
func buildPreload(l *Lab, name string) (library string, err error) {
	cc, err := l.path(CCompiler)
	if err != nil {
		return "", err
	}
	code, err := preloads.ReadFile("preload/" + name + ".c")
	if err != nil {
		return "", err
	}
	dir, err := l.Dir(name)
	if err != nil {
		return "", err
	}
	source, library := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
	if err := os.WriteFile(source, code, 0o644); err != nil {
		return "", err
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-o", library, source).CombinedOutput(); err != nil {
		return "", fmt.Errorf("lab: compile %s.c: %w: %s", name, err, out)
	}
	return library, nil
}

// Step sets the server's clock to the difference d from this machine's, at once.
func (s *SteppedRedis) Step(d time.Duration) error {
	f, err := os.OpenFile(s.offset, os.O_WRONLY|os.O_CREATE, 0o644) // the server has mapped this file
	if err != nil {
		return err
	}
	_, err = f.Write(binary.NativeEndian.AppendUint64(nil, uint64(d)))
	return errors.Join(err, f.Close())
}
