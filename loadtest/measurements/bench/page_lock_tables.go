package bench

import "fmt"

// lockRows are the locks in the order of the page.
var lockRows = []row{
	{"`redislock`, batched, as the service uses it", batchedLock},
	{"`redislock`", ownLock},
	{"bsm/redislock", "bsm redislock"},
	{"redsync", "redsync"},
	{"rueidislock", "rueidislock"},
}

func (t tables) LockPairs() string {
	header := []string{""}
	for _, n := range pairGoroutines {
		header = append(header, fmt.Sprintf("%d goroutines", n))
	}
	header[1] = "1 goroutine"
	var rows [][]string
	for _, lock := range append([]row{{"SET NX and compare-and-delete", rawLock}}, lockRows...) {
		cells := []string{lock.label}
		for _, n := range pairGoroutines {
			cells = append(cells, t.spread(fmt.Sprintf("pairs/%d/%s", n, lock.figure)))
		}
		rows = append(rows, cells)
	}
	return table(header, rows)
}

func (t tables) LockContention() string {
	var rows [][]string
	for _, lock := range lockRows {
		name := "contended/" + lock.figure
		rows = append(rows, []string{lock.label, t.spread(name), t.number(name + " takings, the last holder's own too"),
			t.value(name + " wait p99"), t.value(name + " wait max"), t.number(name + " calls")})
	}
	return table([]string{"", "hand-overs/s", "acquisitions/s", "wait, p99", "wait, longest", "Redis calls per hand-over"}, rows)
}

func (t tables) LockRenewals() string {
	var rows [][]string
	for _, lock := range []row{{"`redislock`", ownLock}, {"rueidislock", "rueidislock"}} {
		rows = append(rows, []string{lock.label, t.spread("held/" + lock.figure)})
	}
	return table([]string{"", "calls"}, rows)
}
