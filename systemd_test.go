package flashsale_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lab"
)

const unit = "deploy/systemd/flashsale.service"

// systemd ignores what it does not know, and only logs it.
func TestSystemdKnowsEveryDirective(t *testing.T) {
	t.Parallel()
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("there is no systemd-analyze: Linux distributions with systemd have it")
	}
	file := filepath.Join(t.TempDir(), filepath.Base(unit)) // it looks for the program, which is not installed
	text := strings.ReplaceAll(read(t, unit), "/usr/local/bin/api", "/bin/true")
	check.NoError(t, os.WriteFile(file, []byte(text), 0o644))
	out, err := exec.CommandContext(t.Context(), analyze, "verify", "--man=no", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), file) {
		t.Errorf("%v: %s", err, out)
	}
}

// Each secret is a credential, and its setting names the file of that credential.
func TestUnitGivesWhatTheServiceReads(t *testing.T) {
	t.Parallel()
	text, config := read(t, unit), read(t, "internal/settings/settings.go")
	secret := firstGroups(`env:"([A-Z_]+)[^"]*"[^\n]* secret:"true"`, config)
	if len(secret) < 3 {
		t.Fatalf("settings.go has %d secrets: have they moved?", len(secret))
	}
	var want []string
	for _, name := range firstGroups(`(?m)^LoadCredential=(\w+):`, text) {
		setting := strings.ToUpper(name)
		want = append(want, setting+"_FILE=%d/"+name)
		if !slices.Contains(secret, setting) {
			t.Errorf("%s is no secret of the service", setting)
		}
	}
	if got := firstGroups(`(?m)^Environment=(\w+_FILE=.*)$`, text); !slices.Equal(got, want) {
		t.Errorf("the unit sets %q for the credentials %q", got, want)
	}
	for _, name := range firstGroups(`env:"([A-Z_]+),required`, config) {
		if !strings.Contains(text, "\nEnvironment="+name+"_FILE=") {
			t.Errorf("the unit does not give %s", name)
		}
	}
	if runtime := "\nEnvironment=" + strings.Join(lab.RuntimeEnv, " ") + "\n"; !strings.Contains(text, runtime) {
		t.Errorf("the unit lacks %q, with which the lab measures", runtime)
	}
}

func TestUnitLetsTheServiceDrain(t *testing.T) {
	t.Parallel()
	stop := firstGroups(`(?m)^TimeoutStopSec=(\d+)$`, read(t, unit))
	drain := firstGroups(`env:"DRAIN_TIMEOUT" envDefault:"(\w+)"`, read(t, "internal/settings/settings.go"))
	if len(stop) != 1 || len(drain) != 1 {
		t.Fatalf("TimeoutStopSec %q, DRAIN_TIMEOUT %q", stop, drain)
	}
	seconds, err := strconv.Atoi(stop[0])
	check.NoError(t, err)
	timeout, err := time.ParseDuration(drain[0])
	if err != nil || timeout+10*time.Second > time.Duration(seconds)*time.Second {
		t.Errorf("%v: systemd kills after %d s, a drain may take %v and DRAIN_DELAY", err, seconds, timeout)
	}
}
