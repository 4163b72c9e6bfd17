package main

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/idgen"
	"example.com/flashsale/internal/settings"
	"example.com/flashsale/migrations"
)

// migrate applies the missing migrations, and with "rules" allows coupons with rules; with
// "down" it reverts all migrations.
func migrate(ctx context.Context, args []string, getenv func(string) string, stderr io.Writer) error {
	direction := "up"
	if len(args) == 1 {
		direction = args[0]
	}
	steps, known := map[string][]func(context.Context, *sql.DB) error{
		"up": {migrations.Up}, "down": {migrations.Down}, "rules": {migrations.Up, migrations.AllowRules},
	}[direction]
	if !known || len(args) > 1 {
		return errors.New("usage: api migrate [up|down|rules]")
	}
	cfg, err := settings.Some(getenv, "MYSQL_DSN")
	if err != nil {
		return err
	}
	db, err := connect.MySQL(cfg.MySQLDSN, 1, connect.ForMigrations)
	if err != nil {
		return fmt.Errorf("MYSQL_DSN: %w", err)
	}
	defer db.Close()
	for _, step := range steps {
		if err := step(ctx, db.DB); err != nil {
			return err
		}
	}
	if direction == "down" {
		return nil
	}
	if err := warnNewer(ctx, slog.New(slog.NewJSONHandler(stderr, nil)), db); err != nil {
		return err
	}
	return migrations.CheckGuards(ctx, db.DB)
}

// token prints a bearer token that is signed with a secret of the settings.
func token(args []string, getenv func(string) string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("token", flag.ContinueOnError)
	flags.SetOutput(stderr)
	user := flags.Int64("user", 0, "user `id`, 1 or more")
	admin := flags.Bool("admin", false, "give the admin role")
	clerk := flags.Bool("clerk", false, "give the role that uses orders")
	ttl := flags.Duration("ttl", 24*time.Hour, "lifetime of the token")
	if err := flags.Parse(args); err != nil {
		return err
	}
	cfg, err := settings.Some(getenv, "JWT_")
	if err != nil {
		return err
	}
	signer, err := cfg.Signer()
	if err != nil {
		return err
	}
	if *user <= 0 || flags.NArg() > 0 {
		return errors.New("usage: api token --user 42 [--admin | --clerk] [--ttl 24h]")
	}
	id := auth.Identity{UserID: *user}
	switch {
	case *admin:
		id.Role = auth.RoleAdmin
	case *clerk:
		id.Role = auth.RoleClerk
	}
	t, err := signer.Sign(id, *ttl)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, t)
	return err
}

// explainID prints what an order id encodes.
func explainID(args []string, stdout io.Writer) error {
	if len(args) != 1 {
		return errors.New("usage: api id 123")
	}
	id, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil {
		return fmt.Errorf("%q is not an id: it must be a whole number", args[0])
	}
	parts, err := idgen.Parse(id)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "%d: number %d of its UTC day, made at %s\n", id, parts.Sequence,
		parts.Time.Format(time.RFC3339))
	return err
}

// health requests /readyz, and returns an error unless the service is ready. It
// is the container's health check: the image has neither a shell nor curl.
func health(ctx context.Context, getenv func(string) string) error {
	cfg, err := settings.Some(getenv, "HTTP_ADDR")
	if err != nil {
		return err
	}
	network, address := "tcp", cfg.HTTPAddr
	if path, unix := strings.CutPrefix(address, "unix:"); unix {
		network, address = "unix", path
	}
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://api/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", body)
	}
	return nil
}
