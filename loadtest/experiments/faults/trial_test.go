package faults

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

// TestMain makes the test binary a holder if HOLDER names one.
func TestMain(m *testing.M) {
	if os.Getenv("HOLDER") == "" {
		labtest.Parallel = 20
		labtest.Main(m, lab.RedisServer, lab.CCompiler)
		return
	}
	if err := Holder(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// try tries the lock of a column once under a fault, with this binary as holder.
func try(t *testing.T, lock, fault string) Cell {
	t.Helper()
	columns, rows, err := chosen("", slug(lock)+"/"+slug(fault))
	check.NoError(t, err)
	c, r := columns[0], rows[0]
	c.command, r.lasts = os.Args[0], min(r.lasts, long)
	s, err := c.open(t.Context(), labtest.Lab(t), t.TempDir())
	check.NoError(t, err)
	t.Cleanup(s.close)
	cell, err := (&experiment{trials: 1}).cell(t.Context(), s, r)
	check.NoError(t, err)
	return cell
}

// A zero beside a lock means nothing where a lock without an owner does not fail. Were it
// ours, it would fail the command.
func TestFaultsTellALockFromNone(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ lock, fault, want string }{
		{"redislock", "partition, long", ""},
		{"SETNX without owner", "partition, long", "TW"},
		{"redislock", "everything at random", ""},
		{"no lock", "everything at random", "T"},
	} {
		t.Run(test.lock+", "+test.fault, func(t *testing.T) {
			t.Parallel()
			cell := try(t, test.lock, test.fault)
			if got := cell.seen().letters(); got != test.want {
				t.Errorf("%q, want %q: %+v", got, test.want, cell.Trials)
			}
			cell.Kind = ours
			if failed := failures([]Cell{cell}); (len(failed) > 0) != (test.want != "") {
				t.Errorf("if it were ours: %q", failed)
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
			err := checkProtocol(t.Context(), labtest.Lab(t), c, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", command, err, want)
			}
		})
	}
}

// What a holder does wrong before a fault strikes is not taken for the work of the fault.
func TestHolderThatBreaksTheProtocolWhileItHoldsIsReported(t *testing.T) {
	t.Parallel()
	for deed, want := range map[string]string{
		"echo oops":        `the holder: "oops": want a time`,
		"exit":             "the holder: the holder has ended",
		"printf %70000d 1": "the holder: a line: ",
	} {
		t.Run(deed, func(t *testing.T) {
			t.Parallel()
			columns, _, err := chosen("", "redislock")
			check.NoError(t, err)
			c := columns[0]
			c.command = fmt.Sprintf(`sh -c '"$0" | while read -r line; do echo "$line"; n=$((n + 1)); `+
				`[ $n != 40 ] || %s; done' %s`, deed, os.Args[0])
			err = checkProtocol(t.Context(), labtest.Lab(t), c, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}

func TestCheckFindsAHolderThatDoesNotExtend(t *testing.T) {
	t.Parallel()
	for lock, want := range map[string]string{"redislock": "", "SETNX without owner": "kept: two at once"} {
		t.Run(lock, func(t *testing.T) {
			t.Parallel()
			columns, _, err := chosen("", slug(lock))
			check.NoError(t, err)
			c := columns[0]
			c.command = os.Args[0]
			err = checkProtocol(t.Context(), labtest.Lab(t), c, t.TempDir())
			if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
				t.Errorf("%v, want %q", err, want)
			}
		})
	}
}
