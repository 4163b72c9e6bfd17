package flashsale_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// A newcomer is a machine without Go and Redis, for deploy/install.sh.
type newcomer struct {
	dir    string // has all programs that the installer finds on PATH
	policy string // policy-rc.d
}

// newNewcomer returns a machine whose apt-get and apt-cache are the given scripts,
// and whose user is root.
func newNewcomer(t *testing.T, aptGet, aptCache string) newcomer {
	t.Helper()
	if testing.Short() {
		t.Skip("-short excludes tests that run programs")
	}
	dir := t.TempDir()
	n := newcomer{filepath.Join(dir, "bin"), filepath.Join(dir, "policy-rc.d")}
	check.NoError(t, os.Mkdir(n.dir, 0o755))
	for name := range strings.FieldsSeq("cat chmod env grep head ls rm sed sleep tee touch tr uname") {
		path, err := exec.LookPath(name)
		check.NoError(t, err)
		check.NoError(t, os.Symlink(path, filepath.Join(n.dir, name)))
	}
	n.program(t, "apt-get", aptGet)
	n.program(t, "apt-cache", aptCache)
	n.program(t, "id", "echo 0")
	return n
}

func (n newcomer) program(t *testing.T, name, script string) {
	t.Helper()
	check.NoError(t, os.WriteFile(filepath.Join(n.dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

func (n newcomer) install(groups ...string) *exec.Cmd {
	cmd := exec.Command("/bin/sh", append([]string{"deploy/install.sh"}, groups...)...)
	cmd.Env = []string{"PATH=" + n.dir, "POLICY_RC_D=" + n.policy}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

// log prints each call.
const log = `echo "apt-get $*"`

// current are versions that are new enough.
const current = `echo "  Candidate: 2:7.24~1"`

func TestInstallerSaysWhatItWillInstallBeforeItDoes(t *testing.T) {
	t.Parallel()
	out, _ := newNewcomer(t, log, current).install("servers").CombinedOutput() // no Go comes of it
	said, done := strings.Index(string(out), "will install with apt-get: golang-go redis-server"),
		strings.Index(string(out), "apt-get install")
	if said < 0 || done < said {
		t.Errorf("%s", out)
	}
}

func TestInstallerRefusesWhatIsTooOldBeforeItInstalls(t *testing.T) {
	t.Parallel()
	for candidate, want := range map[string]string{
		`[ "$2" = golang-go ] && echo "  Candidate: 2:1.19~1" || echo "  Candidate: 5:7.0.15-1"`: "Go 1.19 is too old",
		`[ "$2" = golang-go ] && echo "  Candidate: 2:1.24~2" || echo "  Candidate: 5:6.0.16-1"`: "Redis 6.0 is too old",
	} {
		out, err := newNewcomer(t, log, candidate).install("servers").CombinedOutput()
		if err == nil || !strings.Contains(string(out), want) || strings.Contains(string(out), "apt-get install -y") {
			t.Errorf("want %q: %v\n%s", want, err, out)
		}
	}
	installed := newNewcomer(t, log, current)
	installed.program(t, "redis-server", `echo "Redis server v=6.0.16 sha=0 bits=64"`)
	if out, err := installed.install("servers").CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "Redis 6.0 is too old") {
		t.Errorf("an installed Redis that is too old: %v\n%s", err, out)
	}
}

// The lock is held as another apt-get holds it, and the messages are of the machine's
// own apt-get. The first lock is of the lists, the second of dpkg.
func TestInstallerWaitsForAnotherInstallation(t *testing.T) {
	t.Parallel()
	apt, err := exec.LookPath("apt-get")
	if err != nil {
		t.Skip("there is no apt-get")
	}
	for path, command := range map[string]string{"lists/lock": "update", "dpkg/lock-frontend": "install"} {
		n := newNewcomer(t, "", current)
		dir := t.TempDir()
		for name := range strings.FieldsSeq("lists/partial dpkg/updates archives/partial") {
			check.NoError(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
		}
		check.NoError(t, os.WriteFile(filepath.Join(dir, "dpkg/status"), nil, 0o600))
		n.program(t, "apt-get", `case $1 in `+command+`) exec `+apt+` -o Dir::Etc::sourcelist=/dev/null `+
			`-o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists=`+dir+`/lists -o Dir::State::status=`+dir+
			`/dpkg/status -o Dir::Cache::archives=`+dir+`/archives -o Dpkg::Lock::Timeout=0 -qq `+command+` ;; esac`)
		lock, err := os.Create(filepath.Join(dir, path))
		check.NoError(t, err)
		defer lock.Close()
		check.NoError(t, syscall.FcntlFlock(lock.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}))
		cmd := n.install("go")
		out, err := cmd.StdoutPipe()
		check.NoError(t, err)
		check.NoError(t, cmd.Start())
		said := ""
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if said += lines.Text(); strings.Contains(lines.Text(), "waits for") {
				_ = lock.Close() // the other installation ends
			}
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(said, fmt.Sprint("held by process ", os.Getpid())) {
			t.Errorf("%s: %v\n%s", path, err, said)
		}
	}
}

func TestInstallerDoesNotWaitForEver(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t, `echo "E: Could not get lock /l. It is held by process 7 (apt)" >&2; exit 100`, current)
	cmd := n.install("go")
	cmd.Env = append(cmd.Env, "LOCK_TIMEOUT=2")
	if out, err := cmd.CombinedOutput(); err == nil ||
		!strings.Contains(string(out), "waited for 2 seconds: E: Could not get lock /l") {
		t.Errorf("%v\n%s", err, out)
	}
	n.program(t, "apt-get", `echo "E: Unable to locate package golang-go" >&2; exit 100`)
	if out, err := n.install("go").CombinedOutput(); err == nil || strings.Contains(string(out), "waits") ||
		!strings.Contains(string(out), "Unable to locate package golang-go") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestInstallerNeedsRootOrSudo(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t, log, current)
	n.program(t, "id", "echo 1000")
	if out, err := n.install("servers").CombinedOutput(); err == nil ||
		strings.Contains(string(out), "apt-get update") || !strings.Contains(string(out), "there is no sudo: run as root: apt-get install golang-go redis-server") {
		t.Errorf("%v\n%s", err, out)
	}
}

// macOS has a java that only says where to get Java.
func TestInstallerIsNotTakenInByAStubOfJava(t *testing.T) {
	t.Parallel()
	n := newNewcomer(t, log, current)
	n.program(t, "java", "echo 'Unable to locate a Java Runtime.' >&2; exit 1")
	if out, _ := n.install("locks").CombinedOutput(); !strings.Contains(string(out), "default-jre-headless") {
		t.Errorf("%s", out)
	}
}

// While the file is there, no package of the machine starts its service.
func TestInstallerRemovesPolicyAfterASignal(t *testing.T) {
	t.Parallel()
	// A shell cannot trap what nohup or a shell's & have it ignore from its start. What
	// this process handles, its children do not ignore.
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(handled) })
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		n := newNewcomer(t, "", current)
		started := filepath.Join(n.dir, "started")
		n.program(t, "apt-get", `case "$*" in *install*) touch `+started+`; exec sleep 60 ;; esac`)
		cmd := n.install("servers")
		check.NoError(t, cmd.Start())
		for deadline := time.Now().Add(time.Minute); !exists(started); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("apt-get install was not called within a minute")
			}
		}
		if !exists(n.policy) {
			t.Error("packages start their services")
		}
		check.NoError(t, syscall.Kill(-cmd.Process.Pid, signal))
		if err := cmd.Wait(); err == nil || exists(n.policy) {
			t.Errorf("%s: ended with %v, policy-rc.d is left: %v", signal, err, exists(n.policy))
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}
