package labtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
)

// A Log is a log that can be read while it is written.
type Log struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer.
func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

// String returns what has been written.
func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Find returns the value of key in the first line of JSON with the message, or "".
func (l *Log) Find(message, key string) string {
	for line := range strings.Lines(l.String()) {
		var entry map[string]any
		if json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message {
			return fmt.Sprint(entry[key])
		}
	}
	return ""
}
