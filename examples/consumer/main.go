// Command consumer counts what happens to orders, each once: redis://host:6379/0 STREAM NAME FILE. It ends at the
// first error; start it again with the same NAME and FILE.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

const group = "counter"

var (
	file   *os.File              // has a line "id kind ." for each transition
	seen   = map[string]bool{}   // "id kind"
	states = map[string]string{} // by order
	ctx    = context.Background()
)

func must(err error) {
	if err != nil && !errors.Is(err, redis.Nil) && !strings.HasPrefix(err.Error(), "BUSYGROUP") {
		log.Fatal(err)
	}
}

func open(path string) {
	text, err := os.ReadFile(path)
	if !errors.Is(err, os.ErrNotExist) {
		must(err)
	}
	for line := range strings.SplitSeq(string(text), "\n") {
		if f := strings.Fields(line); len(f) == 3 { // a crash may have cut a line
			isNew(f[0], f[1])
		}
	}
	file, err = os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(err)
}

// isNew notes a transition. Used, returned and expired are final: claimed may come after them.
func isNew(id, kind string) bool {
	if seen[id+" "+kind] {
		return false
	}
	if seen[id+" "+kind] = true; kind != "claimed" || states[id] == "" {
		states[id] = kind
	}
	return true
}

// apply commits an event to the file. It may be repeated.
func apply(body string) {
	var e struct {
		V      int
		Kind   string
		Orders [][]any // id, coupon, user, number
	}
	must(json.Unmarshal([]byte(body), &e))
	if e.V != 1 {
		log.Fatalf("an event of version %d", e.V)
	}
	lines := "\n"
	for _, o := range e.Orders {
		if id := o[0].(string); isNew(id, e.Kind) {
			lines += id + " " + e.Kind + " .\n"
		}
	}
	_, err := file.WriteString(lines)
	must(errors.Join(err, file.Sync()))
}

func main() {
	o, err := redis.ParseURL(os.Args[1])
	must(err)
	rdb, stream, name := redis.NewClient(o), os.Args[2], os.Args[3]
	open(os.Args[4])
	must(rdb.XGroupCreateMkStream(ctx, stream, group, "0").Err())
	for next := "0"; ; { // own entries that were not acknowledged, then new ones
		read, err := rdb.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: name, Streams: []string{stream, next}, Count: 100, Block: time.Second}).Result()
		must(err)
		if len(read) == 0 || len(read[0].Messages) == 0 { // then those of a consumer that has died
			next = ">"
			idle, _, err := rdb.XAutoClaim(ctx, &redis.XAutoClaimArgs{
				Stream: stream, Group: group, Consumer: name, MinIdle: time.Minute, Start: "0", Count: 100}).Result()
			must(err)
			read = []redis.XStream{{Messages: idle}}
		}
		for _, m := range read[0].Messages {
			if body, ok := m.Values["body"].(string); ok { // otherwise the entry was trimmed: read the tables
				apply(body)
			}
			must(rdb.XAck(ctx, stream, group, m.ID).Err())
		}
		if len(read[0].Messages) > 0 {
			fmt.Println(len(seen), "transitions of", len(states), "orders")
		}
	}
}
