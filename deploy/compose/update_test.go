package compose

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// Docker kills a container that outlives its grace period. A connection that nginx keeps for
// longer than the delay may be used just as the instance ends.
func TestInstancesHaveTimeToDrain(t *testing.T) {
	duration := func(pattern, path string) time.Duration {
		d, err := time.ParseDuration(strings.Join(firstGroups(pattern, read(t, path)), " "))
		noError(t, err)
		return d
	}
	drain := duration(`env:"DRAIN_TIMEOUT" envDefault:"(\w+)"`, "internal/settings/settings.go")
	kept := duration(`(?s)upstream instances.*?keepalive_timeout (\w+);`, "deploy/nginx/nginx.conf")
	p := project(t)
	for _, name := range []string{"api-a", "api-b", "api-c"} {
		delay, err := time.ParseDuration(*p.Services[name].Environment["DRAIN_DELAY"])
		noError(t, err)
		grace := time.Duration(*p.Services[name].StopGracePeriod)
		if delay < time.Second || kept >= delay || grace < delay+drain {
			t.Errorf("%s drains for %v and %v, and is killed after %v; nginx keeps idle connections for %v",
				name, delay, drain, grace, kept)
		}
	}
}

// update runs update.sh with a docker that prints its arguments to a file, and
// fails if they contain failing. The given services run, api-c twice.
func update(t *testing.T, failing, services string, env ...string) ([]string, error) {
	t.Helper()
	dir := t.TempDir()
	docker := `#!/bin/sh
case "$*" in
*" ps --services") printf '%s\n' ` + services + ` ;;
*" ps --quiet api-c") printf '1\n2\n' ;;
*" ps --quiet api-a") echo 3 ;;
*) echo "$*" >>` + dir + `/calls; case "$*" in *"` + failing + `"*) exit 1 ;; esac ;;
esac
`
	noError(t, os.WriteFile(filepath.Join(dir, "docker"), []byte(docker), 0o755))
	cmd := exec.Command("bash", filepath.Join(root, "deploy/compose/update.sh"), "-f", "x.yml")
	cmd.Env = append(append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH")), env...)
	failed := cmd.Run()
	calls, err := os.ReadFile(filepath.Join(dir, "calls"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.FieldsFunc(string(calls), func(r rune) bool { return r == '\n' }), failed
}

func TestUpdateRecreatesOneInstanceAfterTheOther(t *testing.T) {
	want := []string{
		"compose -f x.yml build api-a",
		"compose -f x.yml run --rm --no-deps migrate",
		"compose -f x.yml up --detach --wait --no-deps --scale api-a=1 api-a",
		"compose -f x.yml up --detach --wait --no-deps --scale api-c=2 api-c",
	}
	const running = "nginx api-c mysql api-a"
	if got, err := update(t, "none", running); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, calls:\n%s", err, strings.Join(got, "\n"))
	}
	stops := []string{"compose -f x.yml logs --tail 5 api-a", "compose -f x.yml stop api-a"}
	for failing, want := range map[string][]string{ // what follows is not called
		"build": want[:1], "migrate": want[:2], "up": slices.Concat(want[:3], stops),
	} {
		if got, err := update(t, failing, running); err == nil || !slices.Equal(got, want) {
			t.Errorf("%s fails: %v, calls:\n%s", failing, err, strings.Join(got, "\n"))
		}
	}
	if got, err := update(t, "none", "nginx mysql"); err == nil || len(got) > 0 {
		t.Errorf("without instances: %v, calls %q", err, got)
	}
}

// nginx starts, and is healthy, with a certificate that every client refuses.
func TestUpdateRefusesAnExpiredCertificate(t *testing.T) {
	for validFor, want := range map[time.Duration]bool{time.Hour: true, -time.Hour: false} {
		dir := t.TempDir()
		writeCertificate(t, filepath.Join(dir, "tls.crt"), time.Now().Add(validFor))
		got, err := update(t, "none", "nginx api-a", "TLS_DIRECTORY="+dir)
		if (err == nil) != want || (len(got) > 0) != want {
			t.Errorf("valid for %v: %v, calls %q", validFor, err, got)
		}
	}
}

func writeCertificate(t *testing.T, path string, end time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	noError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: end.AddDate(0, -3, 0), NotAfter: end}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	noError(t, err)
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert})
	noError(t, os.WriteFile(path, text, 0o600))
}
