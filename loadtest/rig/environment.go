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

// An Environment describes what a result was measured on: the commit, with
// "-dirty" if there were uncommitted changes, the machine, the versions of the
// programs and the durability settings of the database.
type Environment struct {
	Commit     string            `json:"commit"`
	Time       time.Time         `json:"time"`
	Machine    Machine           `json:"machine"`
	Versions   map[string]string `json:"versions"`
	Durability map[string]string `json:"durability"`
}

// A Machine is the hardware that a result was measured on.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Mem   string `json:"mem"`
}

// Environment describes this machine and the stack's database server.
func (s *Stack) Environment(ctx context.Context) (Environment, error) {
	e, err := ThisMachine(ctx)
	if err != nil {
		return Environment{}, err
	}
	e.Versions["mysql"], e.Durability, err = s.database(ctx)
	return e, err
}

// ThisMachine describes this machine, without a database server.
func ThisMachine(ctx context.Context) (Environment, error) {
	e := Environment{
		Time:     time.Now().UTC().Truncate(time.Second),
		Versions: map[string]string{"go": runtime.Version()},
	}
	var err error
	if e.Commit, err = output(ctx, "git", "describe", "--always", "--abbrev=40", "--dirty",
		"--exclude=*"); err != nil {
		e.Commit = "unknown" // an exported tree has no history
	}
	if e.Machine, err = machine(ctx); err != nil {
		return Environment{}, err
	}
	for name, command := range programs {
		if v := version(ctx, command[0], command[1:]...); v != "" {
			e.Versions[name] = v
		}
	}
	return e, nil
}

// database returns the version of the database server, and the settings that
// decide what a commit survives.
func (s *Stack) database(ctx context.Context) (version string, durability map[string]string, err error) {
	db, err := connect.MySQL(s.MySQL.DSN("mysql")+patient, 1)
	if err != nil {
		return "", nil, err
	}
	defer db.Close()
	durability = map[string]string{}
	for _, name := range []string{"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_doublewrite",
		"innodb_buffer_pool_size"} {
		var value string
		if err := db.GetContext(ctx, &value, "SELECT @@"+name); err != nil {
			return "", nil, err
		}
		durability[name] = value
	}
	return version, durability, db.GetContext(ctx, &version, "SELECT VERSION()")
}

var programs = map[string][]string{
	"redis": {"redis-server", "--version"}, "nginx": {"nginx", "-v"},
	"k6": {filepath.Join("bin", "k6"), "version"},
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

// version returns the version that a program prints, or nothing if it is not installed. Some
// programs print it with an exit status other than zero.
func version(ctx context.Context, name string, args ...string) string {
	path, err := lab.LookPath(name)
	if err != nil {
		return ""
	}
	text, _ := exec.CommandContext(ctx, path, args...).CombinedOutput()
	return string(versionNumber.Find(text))
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
