package lab

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
)

var dependencies = []*Dependency{
	MySQLServer, RedisServer, NginxServer, MemcachedServer, EtcdServer, ZooKeeperServer, HAProxyServer,
	PrometheusServer,
	NetworkTools, CCompiler, OpenSSL, Chromium, GaleraLibrary, JMeter,
}

// The test is not parallel: it hides what is installed.
func TestMissingDependencyIsNamedWithTheCommandThatInstallsIt(t *testing.T) {
	hideEverything(t)
	for _, d := range dependencies {
		if d.linux && runtime.GOOS != "linux" {
			continue
		}
		want := fmt.Sprintf("lab: not installed: %s; to install, run: deploy/install.sh %s", d.name, d.group)
		if err := new(Lab).Require(d); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	err := new(Lab).Require(EtcdServer, MySQLServer, HAProxyServer)
	if want := "etcd, MariaDB or MySQL, HAProxy; to install, run: deploy/install.sh locks network servers"; !strings.HasSuffix(fmt.Sprint(err), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// hideEverything makes every dependency look as if it were not installed.
func hideEverything(t *testing.T) {
	t.Helper()
	nowhere := filepath.Join(t.TempDir(), "absent")
	for _, name := range slices.Sorted(maps.Values(pathVariables)) {
		t.Setenv(name, "")
	}
	t.Setenv("PATH", nowhere)
	saved := directories
	directories = nil
	t.Cleanup(func() { directories = saved })
	for _, d := range []*Dependency{ZooKeeperServer, GaleraLibrary} {
		file := d.file
		d.file = nowhere
		t.Cleanup(func() { d.file = file })
	}
}

// The groups that messages name install the programs that are missing.
func TestInstallerHasEveryDependencyInItsGroup(t *testing.T) {
	t.Parallel()
	script, err := os.ReadFile("../../deploy/install.sh")
	check.NoError(t, err)
	for _, d := range dependencies {
		group := regexp.MustCompile(`(?s)\n\t` + d.group + `\).*?;;`).Find(script)
		for _, name := range append(slices.Clone(d.executables), d.file) {
			if !strings.HasPrefix(name, "/Applications/") && !strings.Contains(string(group)+functions(script), name) {
				t.Errorf("deploy/install.sh %s does not look for %s", d.group, name)
			}
		}
	}
}

// functions returns the part of the installer before its groups.
func functions(script []byte) string {
	before, _, _ := strings.Cut(string(script), "\nfor part; do")
	return before
}

// A test that starts what its package does not declare fails wherever it runs.
func TestLabRunsOnlyWhatItRequires(t *testing.T) {
	t.Parallel()
	l, err := Open()
	check.NoError(t, err)
	defer l.Close()
	check.NoError(t, l.Require())
	_, mysql := StartMySQL(l)
	_, redis := StartRedis(l)
	_, memcached := StartMemcached(l)
	_, etcd := StartEtcd(l)
	_, zookeeper := StartZooKeeper(l)
	_, nginx := StartNginx(l, "../../deploy/nginx", "127.0.0.1:1")
	_, prometheus := StartPrometheus(l, "prometheus.yml")
	_, haproxy := StartHAProxy(l, nil, OneWriter)
	_, sentinel := startSentinel(l, "")
	_, galera := startGalera(l, nil, 0, nil)
	for i, err := range []error{mysql, redis, memcached, etcd, zookeeper, nginx, prometheus, haproxy,
		sentinel, galera} {
		if err == nil || !strings.Contains(err.Error(), "is not among what the lab requires") {
			t.Errorf("start %d: %v", i, err)
		}
	}
}
