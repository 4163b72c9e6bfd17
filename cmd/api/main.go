// Command api is the coupon flash-sale service: api help lists its commands. Its settings come from
// the environment: see package settings and docs/settings.md.
//
// The exit code is 1 after an error, which is written to stderr.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"syscall"
)

// version is the released version of this binary. The linker sets it.
var version = "unknown"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	// What rotates logs sends a hangup, and Go's runtime ends a program whose log has lost its reader.
	signal.Ignore(syscall.SIGHUP, syscall.SIGPIPE)
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// run executes the command that args names, without the program's name. It
// reads settings with getenv, writes results to stdout and the log to stderr.
// The command serve returns after ctx has ended and the last request has been
// served.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	command := "serve"
	if len(args) > 0 {
		command, args = args[0], args[1:]
	}
	takesNone := slices.Contains([]string{"serve", "health", "version", "--version"}, command)
	switch {
	case slices.Contains(args, "-h"), slices.Contains(args, "--help"):
		command = "help"
	case takesNone && len(args) > 0:
		return fmt.Errorf("api %s takes no arguments: its settings come from the environment", command)
	}
	switch command {
	case "serve":
		return serve(ctx, getenv, stderr)
	case "migrate":
		return migrate(ctx, args, getenv, stderr)
	case "token":
		return token(args, getenv, stdout, stderr)
	case "id":
		return explainID(args, stdout)
	case "health":
		return health(ctx, getenv)
	case "version", "--version":
		return printVersion(stdout)
	case "help", "-h", "--help":
		_, err := io.WriteString(stdout, usage)
		return err
	default:
		return fmt.Errorf("unknown command %q; the commands are serve, migrate, token, id, health, version and help",
			command)
	}
}

const usage = `The coupon flash-sale service. Its settings come from the environment: docs/settings.md.

api [serve]             serves HTTP until SIGTERM or an interrupt, then drains
api migrate [up|down]   applies the missing migrations, or drops the tables with their data
api migrate rules       allows coupons with rules: older versions then start no more
api token --user 42     prints a bearer token for the user; --admin, --clerk, --ttl 24h
api id 123…             prints the sequence number and the time inside an order id
api health              requests /readyz on HTTP_ADDR and fails unless the service is ready
api version             prints the version, the commit and the version of Go
api help                prints this list
`

// printVersion prints what this binary was built from.
func printVersion(stdout io.Writer) error {
	commit := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				commit = s.Value
			}
		}
	}
	_, err := fmt.Fprintf(stdout, "api %s, commit %s, %s\n", version, commit, runtime.Version())
	return err
}
