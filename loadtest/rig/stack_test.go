package rig

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) { labtest.Main(m) }

func start(t *testing.T) *Stack {
	t.Helper()
	s, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestPreloadMakesThatManyOrders(t *testing.T) {
	t.Parallel()
	s := start(t)
	sale, err := s.Sale(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []int{1000, 100} { // the second time, of the first nothing is left
		if err := sale.Preload(t.Context(), want); err != nil {
			t.Fatal(err)
		}
		var rows, durable int
		if err := sale.DB.Get(&rows, "SELECT COUNT(DISTINCT id, user_id) FROM coupon_orders"); err != nil || rows != want {
			t.Errorf("%d orders, %v; want %d", rows, err, want)
		}
		if err := sale.DB.Get(&durable, "SELECT @@innodb_flush_log_at_trx_commit"); err != nil || durable != 1 {
			t.Errorf("innodb_flush_log_at_trx_commit is %d after it, %v; want 1", durable, err)
		}
	}
}

func TestTokensSpeakForTheirUser(t *testing.T) {
	t.Parallel()
	m := Mint{secret: []byte("0123456789abcdef0123456789abcdef"), until: time.Now().Add(time.Hour).Unix()}
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(m.Token(User(7)), claims, func(*jwt.Token) (any, error) { return m.secret, nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	if err != nil || claims["sub"] != strconv.FormatInt(User(7), 10) || claims["role"] != "user" {
		t.Errorf("claims %v, %v", claims, err)
	}
	if _, err := jwt.Parse(m.Token(1), func(*jwt.Token) (any, error) { return []byte("another"), nil }); err == nil {
		t.Error("the signature is not checked")
	}
}

func TestUsersAreAllDifferent(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for i := range 1_000_000 {
		u := User(i)
		if seen[u] || len(fmt.Sprint(u)) != 10 {
			t.Fatalf("user %d: %d", i, u)
		}
		seen[u] = true
	}
}

func TestHeadersAreOfOneWidth(t *testing.T) {
	t.Parallel()
	s := start(t)
	h, err := s.Headers(100)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(h.Path)
	if err != nil || len(text) != 100*h.Width {
		t.Fatalf("%d bytes, %v; want 100 of %d", len(text), err, h.Width)
	}
	for i := range 100 {
		if one := string(text[i*h.Width : (i+1)*h.Width]); !strings.HasPrefix(one, "Authorization: Bearer ") ||
			!strings.HasSuffix(one, fmt.Sprintf("X-User: %d\r\n", User(i))) {
			t.Fatalf("headers of user %d: %q", i, one)
		}
	}
}
