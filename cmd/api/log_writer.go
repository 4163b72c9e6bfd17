package main

import (
	"bytes"
	"io"
	"time"
)

// stallTime is how long a line of the log may wait for its reader.
const stallTime = time.Second

// A logWriter drops lines while w does not take them: a log driver that stops reading
// would otherwise stop each request that logs, the probes and the drain.
type logWriter struct {
	w       io.Writer
	writing chan struct{} // has an element while w is written to
}

func newLogWriter(w io.Writer) logWriter { return logWriter{w, make(chan struct{}, 1)} }

// Write implements io.Writer. It returns when w has the line, or after stallTime.
func (l logWriter) Write(line []byte) (int, error) {
	select {
	case l.writing <- struct{}{}:
	default:
		return len(line), nil
	}
	written, copied := make(chan struct{}), bytes.Clone(line)
	go func() {
		defer close(written)
		_, _ = l.w.Write(copied) // slog ignores the error, too
		<-l.writing
	}()
	select {
	case <-written:
	case <-time.After(stallTime):
	}
	return len(line), nil
}
