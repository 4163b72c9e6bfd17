package lab

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
)

// A Dependency is a server or a tool that tests or load tests run, and that
// deploy/install.sh installs.
type Dependency struct {
	name        string   // in messages
	group       string   // the argument of deploy/install.sh
	executables []string // one of them must exist
	file        string   // must exist as well, if it is not empty
	linux       bool     // not needed elsewhere
}

// The dependencies that Require checks.
var (
	MySQLServer = &Dependency{name: "MariaDB or MySQL", group: "servers", executables: []string{"mariadbd", "mysqld"}}
	RedisServer = &Dependency{name: "Redis or Valkey", group: "servers",
		executables: []string{"redis-server", "valkey-server"}}
	NginxServer = &Dependency{name: "nginx", group: "servers", executables: []string{"nginx"}}

	PostgresServer = &Dependency{name: "PostgreSQL", group: "postgresql", executables: []string{"postgres"}}

	MemcachedServer = &Dependency{name: "memcached", group: "locks", executables: []string{"memcached"}}
	EtcdServer      = &Dependency{name: "etcd", group: "locks", executables: []string{"etcd"}}
	ZooKeeperServer = &Dependency{name: "ZooKeeper", group: "locks", executables: []string{"java"},
		file: zookeeperJar}
	HAProxyServer    = &Dependency{name: "HAProxy", group: "network", executables: []string{"haproxy"}}
	PrometheusServer = &Dependency{name: "Prometheus", group: "tests", executables: []string{"prometheus"}}
	NetworkTools     = &Dependency{name: "ip of iproute2", group: "network", executables: []string{"ip"}, linux: true}
	CCompiler        = &Dependency{name: "a C compiler", group: "clock",
		executables: []string{"cc", "gcc", "clang"}, linux: true}
	OpenSSL  = &Dependency{name: "openssl", group: "tests", executables: []string{"openssl"}}
	Chromium = &Dependency{name: "Chromium", group: "tests", executables: []string{
		"chromium", "chromium-browser", "google-chrome", "google-chrome-stable",
		"/Applications/Chromium.app/Contents/MacOS/Chromium",
		"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
	}}

	JMeter        = &Dependency{name: "JMeter", group: "jmeter", executables: []string{"jmeter"}}
	GaleraLibrary = &Dependency{name: "Galera", group: "cluster", file: galeraProvider, linux: true}
)

// Group returns the argument of deploy/install.sh that installs d.
func (d *Dependency) Group() string { return d.group }

// Require returns an error that names what of needed is missing, and the command
// that installs it. From then on the lab runs nothing that needed does not list,
// so that a list that is too short is seen where everything is installed.
func (l *Lab) Require(needed ...*Dependency) error {
	l.needed, l.restricted = needed, true
	var names, groups []string
	for _, d := range needed {
		if _, err := d.path(); err != nil {
			names, groups = append(names, d.name), append(groups, d.group)
		}
	}
	if len(names) == 0 {
		return nil
	}
	slices.Sort(groups)
	return fmt.Errorf("lab: not installed: %s; to install, run: deploy/install.sh %s",
		strings.Join(names, ", "), strings.Join(slices.Compact(groups), " "))
}

// path returns the path of d's executable for a lab that may run it.
func (l *Lab) path(d *Dependency) (string, error) {
	if l.restricted && !slices.Contains(l.needed, d) {
		return "", fmt.Errorf("lab: %s is not among what the lab requires", d.name)
	}
	path, err := d.path()
	if err != nil {
		err = fmt.Errorf("lab: %s is not installed; to install, run: deploy/install.sh %s: %w", d.name, d.group, err)
	}
	return path, err
}

// path returns the path of d's executable, if it has one.
func (d *Dependency) path() (path string, err error) {
	if d.linux && runtime.GOOS != "linux" {
		return "", nil
	}
	if len(d.executables) > 0 {
		path, err = LookPath(d.executables...)
	}
	if d.file != "" {
		_, noFile := os.Stat(d.file)
		err = errors.Join(err, noFile)
	}
	return path, err
}
