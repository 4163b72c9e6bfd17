package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/auth"
	"example.com/flashsale/internal/check"
)

// The clock of the instance is an hour slow, and an hour fast, beside that of its
// database, which decides: about windows, about tokens, and when an order was made.
func TestDatabasesClockDecides(t *testing.T) {
	t.Parallel()
	admin, dsn := ownMySQL(t)
	_, _ = admin.Exec(`GRANT SESSION_VARIABLES_ADMIN ON *.* TO service`) // MySQL needs it, MariaDB has none
	for _, ahead := range []time.Duration{time.Hour, -time.Hour} {
		t.Run(ahead.String(), func(t *testing.T) {
			admin.MustExec(fmt.Sprintf(`SET GLOBAL init_connect = 'SET timestamp = UNIX_TIMESTAMP() + %g'`, ahead.Seconds()))
			i := start(t, environ(t, map[string]string{"MYSQL_DSN": dsn})).ready(t)
			now := time.Now().Add(ahead)
			token := func(user int64, role auth.Role, left time.Duration) string {
				text, err := signer.Sign(auth.Identity{UserID: user, Role: role}, ahead+left)
				check.NoError(t, err)
				return text
			}
			root := token(1, auth.RoleAdmin, 15*time.Minute)
			for begin, code := range map[time.Duration]string{
				-time.Minute: "", 30 * time.Minute: "not_started", -2 * time.Hour: "ended",
			} {
				r := i.post(t, "/coupons", root, fmt.Sprintf(`{"name":"x","stock":9,"begin_time":%q,"end_time":%q}`,
					now.Add(begin).Format(time.RFC3339), now.Add(begin+90*time.Minute).Format(time.RFC3339)))
				path := fmt.Sprintf("/coupons/%v", r.body["id"])
				if r = i.post(t, path+"/orders", token(2, auth.RoleUser, 15*time.Minute), ""); code != "" {
					if r.body["code"] != code {
						t.Errorf("window from %s: %s", begin, r.text)
					}
					continue
				}
				made, err := time.Parse(time.RFC3339, fmt.Sprint(r.body["created_at"]))
				if err != nil || made.Sub(now).Abs() > time.Minute {
					t.Errorf("window from %s: %s", begin, r.text)
				}
				if r = i.get(t, path+"/audit", root); fmt.Sprint(r.body["outside_window"]) != "0" {
					t.Errorf("audit: %s", r.text)
				}
			}
			wantStatus(t, i.get(t, "/orders", token(2, auth.RoleUser, -time.Minute)), 401)
			_, metric, _ := strings.Cut(i.get(t, "/metrics", "").text, "\nflashsale_clock_skew_seconds ")
			metric, _, _ = strings.Cut(metric, "\n")
			if skew, err := strconv.ParseFloat(metric, 64); err != nil || math.Abs(skew+ahead.Seconds()) > 60 {
				t.Errorf("the skew is %s: %v", metric, err)
			}
		})
	}
}
