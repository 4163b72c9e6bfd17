// Command generations shows how locks grow up. It holds the locks of the
// articles as they print them, provokes the defect of each on a private real
// Redis, step by step and without luck, and puts the next generation through
// the same. It prints one table, writes out/generations/generations.json, and
// exits 0 only if everything that should break broke and everything that
// should hold held.
//
// It is a command so that nobody can import the broken locks.
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
	r, err := openResource(ctx, server)
	if err != nil {
		return err
	}
	defer r.db.Close()
	report := Report{Pass: true}
	for i, e := range experiments {
		fmt.Fprintf(os.Stderr, "%2d/%d %s\n", i+1, len(experiments), e.Defect)
		result, err := e.run(ctx, l, r)
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
