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
