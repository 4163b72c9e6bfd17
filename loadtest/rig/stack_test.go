package rig

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
	"example.com/flashsale/internal/lab/labtest"
)

func TestMain(m *testing.M) {
	labtest.Main(m, lab.MySQLServer, lab.RedisServer, lab.NginxServer, lab.MemcachedServer, lab.EtcdServer,
		lab.ZooKeeperServer)
}

func start(t *testing.T) *Stack {
	t.Helper()
	labtest.NeedServers(t)
	s, err := Start()
	check.NoError(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func newSale(t *testing.T, s *Stack, settings ...string) *Sale {
	t.Helper()
	sale, err := s.NewSale(t.Context(), settings...)
	check.NoError(t, err)
	return sale
}

func TestTokensNameTheirUser(t *testing.T) {
	t.Parallel()
	signer := TokenSigner("0123456789abcdef0123456789abcdef")
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(signer.User(UserID(7)), claims,
		func(*jwt.Token) (any, error) { return []byte(signer), nil },
		jwt.WithValidMethods([]string{"HS256"}), jwt.WithExpirationRequired())
	if err != nil || claims["sub"] != strconv.FormatInt(UserID(7), 10) || claims["role"] != "user" {
		t.Errorf("claims %v, %v", claims, err)
	}
	if _, err := jwt.Parse(signer.User(1),
		func(*jwt.Token) (any, error) { return []byte("another"), nil }); err == nil {
		t.Error("the signature is not checked")
	}
}

func TestUserIDsAreAllDifferent(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for i := range 1_000_000 {
		u := UserID(i)
		if seen[u] || len(fmt.Sprint(u)) != 10 {
			t.Fatalf("user %d: %d", i, u)
		}
		seen[u] = true
	}
}
