// Package rig holds what the jobs of the load test share: a private stack of
// servers and instances, the load generators k6 and JMeter, the audit of the
// database, tokens and reports.
//
// Its paths are relative to the root of the repository, where make has built
// bin/.
package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"example.com/flashsale/internal/order/commit"
)

// ErrNotProven is returned by a job that ran to its end and has printed at
// least one failed row.
var ErrNotProven = errors.New("not proven: see the rows that neither held nor broke as they must")

// Binary returns the absolute path of a program that make has built.
func Binary(name string) (string, error) { return filepath.Abs(filepath.Join("bin", name)) }

// EmptyDir creates an empty directory and returns its absolute path. It removes
// what was there before.
func EmptyDir(parts ...string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(parts...))
	if err != nil {
		return "", err
	}
	return dir, errors.Join(os.RemoveAll(dir), os.MkdirAll(dir, 0o755))
}

// Commits are the values of COMMIT that keep every promise.
var Commits = commits()

func commits() (names []string) {
	for _, s := range commit.Strategies {
		names = append(names, string(s))
	}
	return names
}

// Quick reports whether the setting of that name asks for a shorter run. It returns an error
// if that asks for something else.
func Quick(name string) (bool, error) {
	mode := os.Getenv(name)
	if mode != "" && mode != "quick" {
		return false, fmt.Errorf("%s=%s: want quick, or nothing", name, mode)
	}
	return mode == "quick", nil
}

// Sleep waits for d and returns true, or returns false when ctx ends.
func Sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}
