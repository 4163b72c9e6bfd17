package faults

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// TestMain makes the test binary a holder if HOLDER names one.
func TestMain(m *testing.M) {
	if os.Getenv("HOLDER") == "" {
		labtest.Main(m, lab.RedisServer, lab.MySQLServer, lab.CCompiler)
		return
	}
	maps.Copy(holders, broken)
	if err := Holder(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// try tries the lock of a column once under a fault, with this binary as holder.
func try(t *testing.T, lock, fault string) Cell {
	t.Helper()
	return tryColumn(t, columns[slices.IndexFunc(columns, func(c column) bool { return c.name == lock })], fault)
}

func tryColumn(t *testing.T, c column, fault string) Cell {
	t.Helper()
	c.command = os.Args[0]
	s, err := c.open(t.Context(), labtest.Lab(t), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.close() })
	r, err := rowsOf("/" + slug(fault))
	if err != nil {
		t.Fatal(err)
	}
	r = slices.Clone(r)
	r[0].lasts = min(r[0].lasts, long)
	e := &experiment{trials: 1, table: newFencedTable(t.Context(), labtest.Lab(t))}
	cell, err := e.cell(t.Context(), s, r[0])
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

// A zero beside a lock means nothing where a lock without an owner does not fail.
func TestPartitionTellsALockFromOneWithoutAnOwner(t *testing.T) {
	t.Parallel()
	for lock, want := range map[string]string{"redislock": "", "SETNX without owner": "TW"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			cell := try(t, lock, "partition, long")
			if got := cell.seen().letters(); got != want {
				t.Errorf("%q, want %q: %+v", got, want, cell.Trials)
			}
		})
	}
}

func TestFaultsAtRandomTellALockFromNone(t *testing.T) {
	t.Parallel()
	for lock, want := range map[string]string{"redislock": "", "no lock": "T"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			cell := try(t, lock, "everything at random")
			if got := cell.seen().letters(); got != want {
				t.Errorf("%q, want %q: %+v", got, want, cell.Trials)
			}
		})
	}
}

func TestHolderThatBreaksTheProtocolIsReported(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		`sh -c 'echo hello; cat'`:                          "want a time and a word",
		`sh -c 'echo 99999999999999999 ready; cat'`:        "has not come yet",
		`sh -c 'echo 1 ready; cat'`:                        "late",
		`sh -c 'echo lease=$LEASE; cat'`:                   `"lease=3000": want a time`,
		`sh -c 'true'`:                                     "has ended",
		`sh -c 'printf "12 rea"'`:                          "no such word",
		`sh -c 'while :; do echo flood; done'`:             "want a time and a word",
		`sh -c 'read -r _; exec >&-; sleep 60' </dev/null`: "has ended",
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			c := column{name: "broken", backend: noServer, command: command}
			err := check(t.Context(), labtest.Lab(t), c, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", command, err, want)
			}
		})
	}
}
