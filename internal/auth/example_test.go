package auth_test

import (
	"errors"
	"fmt"
	"time"

	"example.com/flashsale/internal/auth"
)

// A login service signs a token with the secret that it shares with this service.
func ExampleVerifier_Authenticate() {
	secret := auth.Secret{Key: []byte("at least thirty-two random bytes")}
	token, err := auth.Signer{Secret: secret}.Sign(auth.Identity{UserID: 42, Role: auth.RoleAdmin}, time.Hour)
	if err != nil {
		panic(err)
	}

	v := auth.NewVerifier(auth.Config{Secrets: []auth.Secret{secret}})
	id, err := v.Authenticate("Bearer " + token)
	fmt.Println(id.UserID, id.Role, err)

	_, err = v.Authenticate("")
	fmt.Println(errors.Is(err, auth.ErrNoToken))
	_, err = v.Authenticate("Bearer x" + token)
	fmt.Println(errors.Is(err, auth.ErrInvalidToken))
	// Output:
	// 42 admin <nil>
	// true
	// true
}

// While a secret is replaced, both are accepted. A token names its secret in kid.
func ExampleConfig_rotation() {
	before := auth.Secret{ID: "2030-11", Key: []byte("the secret of November, 32 bytes")}
	after := auth.Secret{ID: "2030-12", Key: []byte("the secret of December, 32 bytes")}
	v := auth.NewVerifier(auth.Config{Secrets: []auth.Secret{before, after}, Issuer: "login.example.com",
		Audience: "flashsale"})

	for _, secret := range []auth.Secret{before, after} {
		s := auth.Signer{Secret: secret, Issuer: "login.example.com", Audience: "flashsale"}
		token, err := s.Sign(auth.Identity{UserID: 42}, time.Hour)
		if err != nil {
			panic(err)
		}
		id, err := v.Verify(token)
		fmt.Println(secret.ID, id.UserID, id.Role, err)
	}
	// Output:
	// 2030-11 42 user <nil>
	// 2030-12 42 user <nil>
}
