package faults

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/holder"
)

// protocol are trials of a holder that nothing strikes: it keeps its lock for longer than the
// lease, and it ends its wait in time.
var protocol = []row{
	{name: "kept", moment: waiting, lasts: 2 * leaseTime, strike: func(context.Context, *trial) error { return nil }},
	{name: "wait given up", wait: leaseTime / 3},
}

// checkProtocol tries the holders of c without a fault, and returns their breaches of the protocol.
func checkProtocol(ctx context.Context, l *lab.Lab, c column, logs string) error {
	s, err := c.open(ctx, l, logs)
	if err != nil {
		return err
	}
	defer s.close()
	for _, r := range protocol {
		t := &trial{site: s, row: r, key: "faults-" + slug(r.name)}
		if err := t.run(ctx); err != nil {
			return err
		}
		broken := append(t.breaches(t.observe()), append(misconduct(t.seen.a), misconduct(t.seen.b)...)...)
		if len(broken) > 0 {
			return fmt.Errorf("%s: %s", r.name, strings.Join(broken, "; "))
		}
	}
	for _, h := range s.holders {
		_ = h.in.Close()
		select {
		case <-h.exited:
		case <-time.After(leaseTime):
			return errors.New("a holder still runs after the end of its input")
		}
	}
	fmt.Println("the holder keeps the protocol")
	return nil
}

// maxPause is the longest time between two writes of a holder.
const maxPause = 20*10*time.Millisecond + tolerance

// misconduct returns what is wrong with the writes of a holder that nothing has struck.
func misconduct(lines []holder.Line) (found []string) {
	holds := false
	for i, l := range lines {
		switch pause := l.At - lines[max(0, i-1)].At; {
		case holds && pause > maxPause:
			found = append(found, fmt.Sprintf("no write within %s while it holds, before %q", maxPause, l))
		case !holds && l.Word == holder.Write:
			found = append(found, fmt.Sprintf("%q though it does not hold", l))
		}
		holds = l.Word == holder.Acquired || l.Word == holder.Write
	}
	return found
}
