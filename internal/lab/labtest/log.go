package labtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
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
	for value := range l.values(message, key) {
		return value
	}
	return ""
}

// Says reports whether a line of JSON with the message has a value of key that contains text.
func (l *Log) Says(message, key, text string) bool {
	for value := range l.values(message, key) {
		if strings.Contains(value, text) {
			return true
		}
	}
	return false
}

// values yields the value of key in each line of JSON with the message.
func (l *Log) values(message, key string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for line := range strings.Lines(l.String()) {
			var entry map[string]any
			said := json.Unmarshal([]byte(line), &entry) == nil && entry["msg"] == message
			if said && !yield(fmt.Sprint(entry[key])) {
				return
			}
		}
	}
}
