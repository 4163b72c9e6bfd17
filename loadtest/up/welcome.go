package up

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

const welcome = `
The sale is open at %[1]s (Ctrl-C stops it, with all its servers).

  curl -s -H 'Authorization: Bearer %[3]s' %[1]s/coupons/%[2]s
  curl -s -X POST -H 'Authorization: Bearer %[3]s' %[1]s/coupons/%[2]s/orders
  curl -s -H 'Authorization: Bearer %[4]s' %[1]s/coupons/%[2]s/audit

The tokens belong to user 42 and to an admin, and are valid for a day. All operations: %[1]s/docs
`

const shipped = `
To send the demo's load to this stack, start it with USER_RATE=0, because one burst is of one user. Then, from another
terminal:

  BASE_URL=%[1]s %[2]s make load

To repeat an experiment by hand, without a guard or with another lock: LAB=true LOCK=none GUARDS_OFF=unique make up
`

const laboratory = `
!!! LAB, not the service as shipped: %[3]s; no rate limits. Never in production. !!!

The demo's claims, from another terminal, with k6 and with JMeter. A row that breaks a promise says NO; one says
void if its claims hardly met, so that it shows nothing:

  BASE_URL=%[1]s %[2]s make load
  BASE_URL=%[1]s %[2]s SHOP=examples/shops/flashsale.yml WORKLOADS=jmeter-one-user,jmeter-many-users make judge

666 page views at once; v0: INCR, v1: no lock, v2: a mutex of each process, v3: the lock, v4: RedLock over five servers:

  redis-cli %[4]s SET pview 0
  make bin/k6 && bin/k6 run -e BASE_URL=%[1]s -e VERSION=v1 loadtest/k6/pview.js
  %[5]s
  redis-cli %[4]s GET pview
`

func (c config) printWelcome(
	ctx context.Context, out io.Writer, address string, sale *rig.Sale, signer rig.TokenSigner,
) error {
	coupon, err := rig.NewClient(address).CreateCoupon(ctx, signer.Admin(),
		rig.CouponFrom(time.Now(), "coupon", rig.SevenEach.Stock))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, welcome, address, coupon, signer.User(42), signer.Admin())
	if !c.inLab {
		_, err = fmt.Fprintf(out, shipped, address, credentials(signer))
		return err
	}
	jmeter, err := jmeterCommand(ctx, address)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, laboratory, address, credentials(signer), c.protection(), redisCLI(sale.RedisURL),
		jmeter)
	return err
}

// credentials returns the settings with which another terminal signs tokens.
func credentials(signer rig.TokenSigner) string {
	settings := "JWT_SECRET=" + string(signer)
	for _, name := range []string{"JWT_ISSUER", "JWT_AUDIENCE"} {
		if value := os.Getenv(name); value != "" {
			settings += fmt.Sprintf(" %s='%s'", name, value)
		}
	}
	return settings
}

// protection returns the settings that the lab chose.
func (c config) protection() string {
	var chosen []string
	for _, setting := range c.settings {
		name, _, _ := strings.Cut(setting, "=")
		switch name {
		case "LOCK", "LOCK_SCOPE", "COMMIT", "GUARDS_OFF":
			chosen = append(chosen, setting)
		}
	}
	return strings.Join(chosen, " ")
}

// redisCLI returns the arguments of redis-cli for a database behind a Unix socket.
func redisCLI(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "-u " + address
	}
	return "-s " + u.Path + " -n " + u.Query().Get("db")
}

// jmeterCommand returns the line that sends the page views to the service at address.
func jmeterCommand(ctx context.Context, address string) (string, error) {
	dir, err := rig.EmptyDir("out", "up")
	if err != nil {
		return "", err
	}
	u, err := url.Parse(address)
	if err != nil {
		return "", err
	}
	line := fmt.Sprintf("jmeter -n -t loadtest/jmeter/pview.jmx -Jhost=%s -Jport=%s -Jversion=v1 -Jmethod=GET -l out/up/v1.csv -j out/up/run.log",
		u.Hostname(), u.Port())
	path, err := lab.LookPath("jmeter")
	var settings []string
	if err == nil {
		settings, err = rig.DebianClassPath(ctx, path, dir)
	}
	if err != nil {
		return line + "   # after deploy/install.sh jmeter, and make up again", nil //nolint:nilerr // the reader installs JMeter
	}
	return strings.Join(append(settings, line), " "), nil
}
