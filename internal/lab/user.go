package lab

import "os"

// isRoot reports whether this process runs as root. Some servers refuse to run
// as root unless their command line or configuration allows it.
func isRoot() bool { return os.Geteuid() == 0 }

// osUser returns the account of this process, which the servers run as too.
func osUser() string {
	if isRoot() {
		return "root"
	}
	return os.Getenv("USER")
}
