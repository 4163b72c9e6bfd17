//go:build !linux

package lab

// awaitStop does nothing: a stop takes effect within milliseconds, and only
// Linux reports when.
func awaitStop(int) {}
