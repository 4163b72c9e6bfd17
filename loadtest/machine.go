package main

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

	"example.com/flashsale/internal/connect"
	"example.com/flashsale/internal/lab"
)

// A Machine is what a figure was measured on.
type Machine struct {
	CPU   string `json:"cpu"`
	Cores int    `json:"cores"`
	Mem   string `json:"mem"`
}

// here says which commit runs on which machine; "-dirty" marks changes that
// no commit has.
func here(ctx context.Context) (string, Machine, error) {
	commit, err := output(ctx, "git", "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*")
	if err != nil {
		commit = "unknown" // an exported tree has no history
	}
	m := Machine{Cores: runtime.NumCPU()}
	if runtime.GOOS == "darwin" {
		m.CPU, err = output(ctx, "sysctl", "-n", "machdep.cpu.brand_string")
		bytes, memErr := output(ctx, "sysctl", "-n", "hw.memsize")
		m.Mem = bytes + " B"
		return commit, m, errors.Join(err, memErr)
	}
	cpu, cpuErr := firstMatch("/proc/cpuinfo", `(?m)^(?:model name|Model)\s*: (.+)$`)
	mem, err := firstMatch("/proc/meminfo", `(?m)^MemTotal:\s*(.+)$`)
	if cpuErr != nil {
		cpu = runtime.GOARCH // arm64 kernels name no model
	}
	m.CPU, m.Mem = cpu, mem
	return commit, m, err
}

// servers asks the programs of this run for their versions, and the database
// for what it promises about a commit.
func servers(ctx context.Context, server *lab.MySQL) (versions, durability map[string]string, err error) {
	db, err := connect.MySQL(server.DSN("mysql"), 1)
	if err != nil {
		return nil, nil, err
	}
	defer db.Close()
	versions = map[string]string{"go": runtime.Version()}
	durability = map[string]string{}
	ask := func(into map[string]string, name, expression string) {
		var value string
		err = errors.Join(err, db.GetContext(ctx, &value, "SELECT "+expression))
		into[name] = value
	}
	ask(versions, "mysql", "VERSION()")
	for _, name := range []string{"innodb_flush_log_at_trx_commit", "sync_binlog", "log_bin", "innodb_doublewrite"} {
		ask(durability, name, "@@"+name)
	}
	for name, command := range map[string][]string{
		"redis": {"redis-server", "--version"}, "nginx": {"nginx", "-v"}, "k6": {filepath.Join("bin", "k6"), "version"},
	} {
		versions[name] = version(ctx, command)
	}
	return versions, durability, err
}

var versionNumber = regexp.MustCompile(`\d+\.\d+\.\d+\S*`)

// version is what a program calls itself; "unknown" if it is not there.
func version(ctx context.Context, command []string) string {
	path, err := lab.Find(command[0])
	if err != nil {
		return "unknown"
	}
	said, err := exec.CommandContext(ctx, path, command[1:]...).CombinedOutput()
	if number := versionNumber.Find(said); err == nil && number != nil {
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
