package stack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
)

// Circumstances are what a figure is worth nothing without.
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
	c := Circumstances{Time: time.Now().UTC().Truncate(time.Second), Durability: map[string]string{}}
	var err error
	if c.Machine, err = machine(ctx); err != nil {
		return c, err
	}
	if c.Commit, err = output(ctx, "git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"); err != nil {
		c.Commit = "unknown" // an exported tree has no history
	}
	sale, err := s.Sale(ctx)
	if err != nil {
		return c, err
	}
	defer sale.DB.Close()
	ask := func(into map[string]string, name, expression string) {
		var value string
		err = errors.Join(err, sale.DB.GetContext(ctx, &value, "SELECT "+expression))
		into[name] = value
	}
	c.Versions = map[string]string{"go": runtime.Version(), "redis": version(ctx, "redis-server", "--version"), "nginx": version(ctx, "nginx", "-v"), "wrk": version(ctx, "wrk", "-v")}
	ask(c.Versions, "mysql", "VERSION()")
	for _, name := range []string{"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_doublewrite", "innodb_buffer_pool_size"} {
		ask(c.Durability, name, "@@"+name)
	}
	return c, err
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
	path, err := lab.Find(name)
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
