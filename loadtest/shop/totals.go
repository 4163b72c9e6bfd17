package shop

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// Totals say how the sale is counted. What is asked for in two ways is what the last
// of them says.
type Totals struct {
	After   time.Duration `yaml:"after"` // for a shop that inserts orders after its reply: until nothing changes for so long
	SQL     Queries       `yaml:"sql"`
	Route   Route         `yaml:"route"`
	Command Command       `yaml:"command"`
	// Order is a request for the order {{order}}, sent for each order that a client was
	// told of. A status below 300 says that it is there, 404 and 410 that it is not.
	Order Request `yaml:"order"`
}

// Queries are statements. Those of Counting return a number each, and the others a row
// for each order: its id as replies have it, or its user as {{user}}.
type Queries struct {
	Counting[Text] `yaml:",inline"`
	OrderIDs       Text `yaml:"order_ids"`
	OrderUsers     Text `yaml:"order_users"`
}

// A Route is a request whose reply has the numbers.
type Route struct {
	Request           `yaml:",inline"`
	Counting[Pointer] `yaml:",inline"`
}

// A Command prints a JSON document with the numbers.
type Command struct {
	Run               Text `yaml:"run"`
	Counting[Pointer] `yaml:",inline"`
}

// Counting has something for each of the numbers: the units left, the orders, the
// users with an order, and the most orders of a user.
type Counting[T any] struct {
	Stock       T `yaml:"stock"`
	Orders      T `yaml:"orders"`
	Users       T `yaml:"users"`
	MostPerUser T `yaml:"most_per_user"`
}

// each calls f for each of the numbers, until it fails.
func (c *Counting[T]) each(counts *Counts, f func(T, *Count) error) error {
	return errors.Join(f(c.Stock, &counts.Stock), f(c.Orders, &counts.Orders), f(c.Users, &counts.Users),
		f(c.MostPerUser, &counts.MostPerUser))
}

// A Count is a number, or is not known.
type Count struct {
	N     int
	Known bool
}

// String returns the number, or ? if it is not known.
func (c Count) String() string {
	if !c.Known {
		return "?"
	}
	return strconv.Itoa(c.N)
}

// Counts are what a shop says of a sale.
type Counts = Counting[Count]

// Count counts the sale.
func (s *Sale) Count(ctx context.Context) (c Counts, err error) {
	err = s.Totals.SQL.each(&c, func(query Text, n *Count) error { return s.number(ctx, query, n) })
	if err == nil && s.Totals.Route.given() {
		var reply Reply
		if reply, err = s.call(ctx, s.Totals.Route.Request, s.values()); err == nil {
			err = read(&s.Totals.Route.Counting, reply.Body, &c)
		}
	}
	if err == nil && s.Totals.Command.Run != "" {
		var body []byte
		if body, err = run(ctx, string(s.Totals.Command.Run), s.values()); err == nil {
			err = read(&s.Totals.Command.Counting, body, &c)
		}
	}
	if err != nil {
		return c, fmt.Errorf("totals: %w", err)
	}
	return c, nil
}

func (s *Sale) number(ctx context.Context, query Text, n *Count) error {
	if query == "" {
		return nil
	}
	text, args := s.bind(query, s.values())
	n.Known = true
	if err := s.db.GetContext(ctx, &n.N, text, args...); err != nil {
		return fmt.Errorf("%s: %w", query, err)
	}
	return nil
}

func read(members *Counting[Pointer], body []byte, c *Counts) error {
	return members.each(c, func(p Pointer, n *Count) (err error) {
		if p == "" {
			return nil
		}
		text, _ := p.find(body)
		if n.N, err = strconv.Atoi(text); err != nil {
			return fmt.Errorf("no number at %s of %.200q", p, body)
		}
		n.Known = true
		return nil
	})
}

// A Told is a claim whose client was told of an order.
type Told struct{ User, Token, Order string }

// Missing returns how many of told have no order of their own, or false if the file
// does not say how to find out.
func (s *Sale) Missing(ctx context.Context, told []Told) (n int, known bool, err error) {
	switch {
	case s.Totals.SQL.OrderIDs != "":
		n, err = s.unmatched(ctx, s.Totals.SQL.OrderIDs, told, func(t Told) string { return t.Order })
	case s.Totals.SQL.OrderUsers != "":
		n, err = s.unmatched(ctx, s.Totals.SQL.OrderUsers, told, func(t Told) string { return t.User })
	case s.Totals.Order.given():
		n, err = s.notFound(ctx, told)
	default:
		return 0, false, nil
	}
	if err != nil {
		return 0, false, fmt.Errorf("totals: %w", err)
	}
	return n, true, nil
}

// unmatched returns how many keys of told are not among the rows of query. A row
// matches once.
func (s *Sale) unmatched(
	ctx context.Context, query Text, told []Told, key func(Told) string,
) (n int, err error) {
	var rows []string
	text, args := s.bind(query, s.values())
	if err := s.db.SelectContext(ctx, &rows, text, args...); err != nil {
		return 0, fmt.Errorf("%s: %w", query, err)
	}
	there := map[string]int{}
	for _, row := range rows {
		there[row]++
	}
	for _, t := range told {
		if there[key(t)] == 0 {
			n++
			continue
		}
		there[key(t)]--
	}
	return n, nil
}

// notFound asks for each order. One that another claim was told of too, or that has no id, is
// missing.
func (s *Sale) notFound(ctx context.Context, told []Told) (int, error) {
	var missing atomic.Int64
	seen := map[string]bool{"": true}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for _, t := range told {
		if seen[t.Order] {
			missing.Add(1)
			continue
		}
		seen[t.Order] = true
		group.Go(func() error {
			absent, err := s.absent(ctx, t)
			if absent {
				missing.Add(1)
			}
			return err
		})
	}
	err := group.Wait()
	return int(missing.Load()), err
}

func (s *Sale) absent(ctx context.Context, t Told) (bool, error) {
	v := s.values()
	v["user"], v["token"], v["order"] = t.User, t.Token, t.Order
	reply, err := s.do(ctx, client, s.Totals.Order, v)
	switch {
	case err != nil:
		return false, err
	case reply.Status < http.StatusMultipleChoices:
		return false, nil
	case reply.Status == http.StatusNotFound, reply.Status == http.StatusGone:
		return true, nil
	}
	return false, unexpected(reply)
}
