package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"time"

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// Circumstances are what a figure is worth nothing without: the commit, with
// "-dirty" for changes that no commit has, the machine, and what ran on it.
type Circumstances struct {
	Commit     string            `json:"commit"`
	Time       time.Time         `json:"time"`
	Machine    Machine           `json:"machine"`
	Versions   map[string]string `json:"versions"`
	Durability map[string]string `json:"durability"`
}

// A Machine is what a figure was measured on.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Mem   string `json:"mem"`
}

// Circumstances says what runs here on what, and what the database promises
// about a commit.
func (s *Stack) Circumstances(ctx context.Context) (Circumstances, error) {
	return Describe(ctx, s.MySQL)
}

// Describe is Circumstances for any database server.
func Describe(ctx context.Context, server *lab.MySQL) (Circumstances, error) {
	db, err := connect.MySQL(server.DSN("mysql"), 1)
	if err != nil {
		return Circumstances{}, err
	}
	defer db.Close()
	c := Circumstances{
		Time:       time.Now().UTC().Truncate(time.Second),
		Versions:   map[string]string{"go": runtime.Version()},
		Durability: map[string]string{},
	}
	if c.Commit, err = output(ctx, "git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"); err != nil {
		c.Commit = "unknown" // an exported tree has no history
	}
	c.Machine, err = machine(ctx)
	for name, command := range programs {
		c.Versions[name] = version(ctx, command[0], command[1:]...)
	}
	ask := func(into map[string]string, name, expression string) {
		var value string
		err = errors.Join(err, db.GetContext(ctx, &value, "SELECT "+expression))
		into[name] = value
	}
	ask(c.Versions, "mysql", "VERSION()")
	for _, name := range []string{"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_doublewrite", "innodb_buffer_pool_size"} {
		ask(c.Durability, name, "@@"+name)
	}
	return c, err
}

var programs = map[string][]string{
	"redis": {"redis-server", "--version"}, "nginx": {"nginx", "-v"},
	"k6": {filepath.Join("bin", "k6"), "version"}, "wrk": {"wrk", "-v"},
}

func machine(ctx context.Context) (Machine, error) {
	m := Machine{Cores: runtime.NumCPU()}
	if runtime.GOOS == "darwin" {
		cpu, err := output(ctx, "sysctl", "-n", "machdep.cpu.brand_string")
		mem, memErr := output(ctx, "sysctl", "-n", "hw.memsize")
		m.CPU, m.Mem = cpu, mem+" B"
		return m, errors.Join(err, memErr)
	}
	cpu, err := firstMatch("/proc/cpuinfo", `(?m)^(?:model name|Model)\s*: (.+)$`)
	if err != nil {
		cpu = runtime.GOARCH // arm64 kernels name no model
	}
	m.CPU = cpu
	m.Mem, err = firstMatch("/proc/meminfo", `(?m)^MemTotal:\s*(.+)$`)
	return m, err
}

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+\S*`)

// version is what a program calls itself, which some do with a status other
// than zero; "unknown" if it is not there.
func version(ctx context.Context, name string, args ...string) string {
	path, err := lab.LookPath(name)
	if err != nil {
		return "unknown"
	}
	said, _ := exec.CommandContext(ctx, path, args...).CombinedOutput()
	if number := versionNumber.Find(said); number != nil {
		return string(number)
	}
	return "unknown"
}

func output(ctx context.Context, name string, args ...string) (string, error) {
	b, err := exec.CommandContext(ctx, name, args...).Output()
	return strings.TrimSpace(string(b)), err
}

func firstMatch(path, pattern string) (string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(pattern).FindSubmatch(b)
	if m == nil {
		return "", fmt.Errorf("%s: nothing matches %s", path, pattern)
	}
	return string(m[1]), nil
}
