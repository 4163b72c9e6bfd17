package shop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"strconv"
	"time"

	"github.com/jmoiron/sqlx"
)

// Begin says how a sale begins: without orders, and with {{stock}} units. What is
// given is done in the order of the fields.
type Begin struct {
	Command  Text      `yaml:"command"`
	SQL      []Text    `yaml:"sql"`
	Requests []Request `yaml:"requests"`
	Coupon   Extract   `yaml:"coupon"` // of the last request's reply, for {{coupon}}
}

// A Sale is a sale of a shop that has begun.
type Sale struct {
	*Shop
	Coupon  string
	PerUser int // how many orders a user may have
	admin   string
	db      *sqlx.DB // nil without a DSN
}

// Open connects to what the file names for counting.
func (s *Shop) Open(ctx context.Context) (*Sale, error) {
	db, err := s.database().open(ctx)
	return &Sale{Shop: s, Coupon: string(s.Coupon), PerUser: 1, db: db}, err
}

// Close closes the connections of Open.
func (s *Sale) Close() error {
	if s.db == nil {
		return nil
	}
	return s.db.Close()
}

// values are what stands for the placeholders of all requests but claims.
func (s *Sale) values() Values {
	v := Values{"coupon": s.Coupon, "per_user": strconv.Itoa(s.PerUser), "admin": s.admin}
	maps.Copy(v, s.served)
	return v
}

// Restart begins again, with stock units. It runs the SQL only while the shop's address accepts
// connections: where no shop is, the data may be somebody else's.
func (s *Sale) Restart(ctx context.Context, stock int) (err error) {
	if s.admin, err = s.adminToken(ctx); err != nil {
		return err
	}
	v := s.values()
	v["stock"] = strconv.Itoa(stock)
	if s.Begin.Command != "" {
		if _, err := run(ctx, string(s.Begin.Command), v); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
	}
	if err := s.sqlMayRun(ctx); err != nil {
		return err
	}
	for _, statement := range s.Begin.SQL {
		query, args := s.bind(statement, v)
		if _, err := s.db.ExecContext(ctx, query, args...); err != nil {
			return fmt.Errorf("begin: %s: %w", statement, err)
		}
	}
	return s.request(ctx, v)
}

func (s *Sale) sqlMayRun(ctx context.Context) error {
	if len(s.Begin.SQL) == 0 {
		return nil
	}
	address, err := Address(string(s.URL))
	if err != nil {
		return err
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("begin: no shop at %s, so its data are left alone: %w", s.URL, err)
	}
	return conn.Close()
}

// Address returns the IPv4 address and the port of a URL.
func Address(text string) (string, error) {
	base, err := url.Parse(text)
	if err != nil {
		return "", err
	}
	address, err := net.ResolveTCPAddr("tcp4", net.JoinHostPort(base.Hostname(), cmp.Or(base.Port(), "80")))
	if err != nil {
		return "", err
	}
	return address.String(), nil
}

// request sends the requests with which a sale begins.
func (s *Sale) request(ctx context.Context, v Values) error {
	var reply Reply
	for _, r := range s.Begin.Requests {
		var err error
		if reply, err = s.call(ctx, r, v); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
	}
	if !s.Begin.Coupon.given() {
		return nil
	}
	found := false
	if s.Coupon, found = s.Begin.Coupon.From(reply); !found {
		return errors.New("begin: the reply to the last request has no coupon")
	}
	return nil
}
