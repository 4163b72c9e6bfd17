package holder

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock"
)

func TestLineIsParsedAsItWasSent(t *testing.T) {
	t.Parallel()
	for _, want := range []Line{
		{At: 5 * time.Microsecond, Word: Ready}, {At: time.Second, Word: Acquired, Fence: 7}, {Word: Write},
		{At: 1, Word: Refused}, {Word: Lost, Text: "the lease has ended"}, {Word: Released},
		{Word: Unknown, Text: "EOF"},
	} {
		want.At = want.At.Truncate(time.Microsecond)
		if got, err := ParseLine(want.String()); err != nil || got != want {
			t.Errorf("%q: %+v, %v", want, got, err)
		}
	}
}

func TestWhatIsNoLineIsRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "ready", "12", "12 dance", "now ready", "12 acquired", "12 write x", "12 acquired -1", "12.5 ready",
	} {
		if l, err := ParseLine(text); err == nil {
			t.Errorf("%q was parsed as %+v", text, l)
		}
	}
}

// conversation runs Serve with a local lock: it sends the commands and returns what
// the holder said, word by word.
func conversation(t *testing.T, take Acquire, commands ...func(in io.Writer)) []Line {
	t.Helper()
	inR, inW := io.Pipe()
	var out strings.Builder
	done := make(chan error)
	go func() { done <- Serve(t.Context(), inR, &out, take) }()
	for _, command := range commands {
		command(inW)
	}
	_ = inW.Close()
	check.NoError(t, <-done)
	var lines []Line
	for text := range strings.Lines(out.String()) {
		l, err := ParseLine(strings.TrimSuffix(text, "\n"))
		check.NoError(t, err)
		if n := len(lines) - 1; n < 0 || lines[n].Word != l.Word {
			lines = append(lines, l)
		}
	}
	return lines
}

func send(command string, pause time.Duration) func(io.Writer) {
	return func(in io.Writer) {
		_, _ = io.WriteString(in, command+"\n")
		time.Sleep(pause)
	}
}

func words(lines []Line) (all []Word) {
	for _, l := range lines {
		all = append(all, l.Word)
	}
	return all
}

func TestHolderSaysWhatItsLockSays(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := lock.New(lock.Local())
		got := words(conversation(t, FromClient(c), send("acquire k 3000 0", time.Second), send("release", 0)))
		want := []Word{Ready, Acquired, Write, Released}
		if !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
		other, err := c.Acquire(t.Context(), "k", lock.Options{})
		check.NoError(t, err)
		got = words(conversation(t, FromClient(c), send("acquire k 3000 500", time.Second)))
		if want := []Word{Ready, Refused}; !slices.Equal(got, want) {
			t.Errorf("of a held lock: %v, want %v", got, want)
		}
		_ = other.Release(t.Context())
	})
}

// A lost is a lock that is lost after a second, without a word, and whose release
// gets no reply.
type lost struct{ until time.Time }

var errNoReply = errors.New("no reply")

func (l *lost) acquire(context.Context, string, time.Duration, time.Duration) (Held, error) {
	l.until = time.Now().Add(time.Second)
	return l, nil
}
func (l *lost) Fence() uint64                 { return 1 }
func (l *lost) Done() <-chan struct{}         { return nil }
func (l *lost) Release(context.Context) error { return errNoReply }

func (l *lost) Err() error {
	if time.Now().After(l.until) {
		return lock.ErrLost
	}
	return nil
}

func TestHolderWritesNothingAfterTheLoss(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		got := words(conversation(t, new(lost).acquire, send("acquire k 3000 0", 2*time.Second), send("release", 0)))
		if want := []Word{Ready, Acquired, Write, Lost, Unknown}; !slices.Equal(got, want) {
			t.Errorf("%v, want %v", got, want)
		}
	})
}
