// Command generations compares the generations of a distributed lock. It
// contains the locks as the articles print them. On private real Redis servers
// it injects the fault that triggers each one's defect, deterministically, and
// injects the same fault into the generation that removes the defect. It prints
// one table, writes out/generations/generations.json, and exits 0 only if
// everything expected to break broke and everything expected to hold held.
//
// The defective locks are in package main so that they cannot be imported.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"example.com/flashsale/internal/lab"
)

var errNotProven = errors.New("not proven: see the rows that say NO")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "generations:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) (err error) {
	l, err := lab.Open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	server, err := l.MySQL()
	if err != nil {
		return err
	}
	store, err := openFencedStore(ctx, server)
	if err != nil {
		return err
	}
	defer store.db.Close()
	report := Report{Pass: true}
	for i, e := range experiments {
		fmt.Fprintf(os.Stderr, "%2d/%d %s\n", i+1, len(experiments), e.Defect)
		result, err := e.run(ctx, l, store)
		if err != nil {
			return err
		}
		report.Experiments = append(report.Experiments, result)
		report.Pass = report.Pass && result.Pass
	}
	report.print(os.Stdout)
	if err := report.save("out/generations/generations.json"); err != nil {
		return err
	}
	if !report.Pass {
		return errNotProven
	}
	return nil
}
