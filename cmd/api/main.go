// Command api is the flash-sale service. Its settings come from the
// environment and are listed in the README; config.go says what each means.
//
//	api [serve]             answer requests until SIGTERM
//	api migrate [up|down]   bring the schema to the newest version, or take it away
//	api token --user 42     make a bearer token for trying it out
//	api id 123…             explain an id
//	api health              ask the service on HTTP_ADDR whether it is ready
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the program at once
	if err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// run is the program: args without its name, settings by getenv, what was
// asked for to stdout and the log to stderr. It returns when ctx ends and the
// last request is answered.
func run(ctx context.Context, args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	verb := "serve"
	if len(args) > 0 {
		verb, args = args[0], args[1:]
	}
	switch verb {
	case "serve":
		return serve(ctx, getenv, stderr)
	case "migrate":
		return migrate(ctx, args, getenv)
	case "token":
		return token(args, getenv, stdout, stderr)
	case "id":
		return explain(args, stdout)
	case "health":
		return health(ctx, getenv)
	}
	return errors.New("no verb " + verb + "; there are serve, migrate, token, id and health")
}
