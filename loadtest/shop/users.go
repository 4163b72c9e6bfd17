package shop

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/errgroup"
)

// Users are those who claim. They are numbered from First on.
type Users struct {
	First    int `yaml:"first"`
	Identity `yaml:",inline"`
}

// An Identity says where tokens come from: one for all, a file with one in a line, a
// secret that signs them, or a login. The first that is not empty counts.
type Identity struct {
	Token Text  `yaml:"token"`
	File  Text  `yaml:"file"`
	JWT   JWT   `yaml:"jwt"`
	Login Login `yaml:"login"`
}

// A JWT is signed with HMAC and SHA-256, and is valid for a day.
type JWT struct {
	Secret Text            `yaml:"secret"`
	Claims map[string]Text `yaml:"claims"` // those that are empty are left out
}

// A Login is a request whose reply has a token.
type Login struct {
	Request `yaml:",inline"`
	Reply   Extract `yaml:"token"`
}

func (i Identity) given() bool {
	return i.Token != "" || i.File != "" || i.JWT.Secret != "" || i.Login.given()
}

// parallel is how many requests other than claims are in flight at a time.
const parallel = 16

// A User is one of those who claim.
type User struct{ ID, Token string }

// Tokens returns n users with their tokens.
func (s *Shop) Tokens(ctx context.Context, n int) ([]User, error) {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = strconv.Itoa(s.Users.First + i)
	}
	tokens, err := s.tokens(ctx, s.Users.Identity, ids)
	if err != nil {
		return nil, fmt.Errorf("users: %w", err)
	}
	users := make([]User, n)
	for i := range users {
		users[i] = User{ids[i], tokens[i]}
	}
	return users, nil
}

// adminToken returns the token of the admin, or nothing if the file has none.
func (s *Shop) adminToken(ctx context.Context) (string, error) {
	tokens, err := s.tokens(ctx, s.Admin, []string{"1"})
	if err != nil {
		return "", fmt.Errorf("admin: %w", err)
	}
	return tokens[0], nil
}

func (s *Shop) tokens(ctx context.Context, from Identity, ids []string) ([]string, error) {
	if from.Token == "" && from.File != "" {
		return fileTokens(string(from.File), len(ids))
	}
	if from.Login.given() && len(ids) > 1 {
		fmt.Fprintf(os.Stderr, "         %d logins, %d at a time\n", len(ids), parallel)
	}
	tokens := make([]string, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, id := range ids {
		group.Go(func() (err error) {
			tokens[i], err = s.token(ctx, from, Values{"user": id, "coupon": string(s.Coupon)})
			return err
		})
	}
	return tokens, group.Wait()
}

func (s *Shop) token(ctx context.Context, from Identity, v Values) (string, error) {
	switch {
	case from.Token != "":
		return string(from.Token), nil
	case from.JWT.Secret != "":
		return from.JWT.sign(v)
	case from.Login.given():
		reply, err := s.call(ctx, from.Login.Request, v)
		if err != nil {
			return "", fmt.Errorf("login: %w", err)
		}
		token, found := from.Login.Reply.From(reply)
		if !found {
			return "", fmt.Errorf("login: no token in the reply %.200q", reply.Body)
		}
		return token, nil
	}
	return "", nil
}

func (j JWT) sign(v Values) (string, error) {
	claims := jwt.MapClaims{"exp": time.Now().Add(24 * time.Hour).Unix()}
	for name, value := range j.Claims {
		if text := value.With(v); text != "" {
			claims[name] = text
		}
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims).SignedString([]byte(j.Secret))
}

func fileTokens(file string, n int) ([]string, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	tokens := strings.Fields(string(text))
	if len(tokens) < n {
		return nil, fmt.Errorf("too few tokens: %s has %d, and the workload has %d users; WORKLOADS chooses smaller ones",
			path, len(tokens), n)
	}
	return tokens[:n], nil
}
