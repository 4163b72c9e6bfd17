package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pathVariables maps an executable's name to the environment variable that
// overrides its path.
var pathVariables = map[string]string{
	"mariadbd": "LAB_MYSQLD", "mysqld": "LAB_MYSQLD",
	"redis-server": "LAB_REDIS", "valkey-server": "LAB_REDIS",
}

// directories are searched after PATH, which often lacks them. That of Debian's PostgreSQL
// has the version in its name.
var directories = func() []string {
	debian, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	return append(debian, "/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/opt/homebrew/sbin", "/opt/homebrew/bin")
}()

// LookPath returns the path of the first of the named executables that is
// installed. A path in the executable's environment variable wins, whatever
// the file is called; LookPath fails if that file is not executable.
func LookPath(names ...string) (string, error) {
	for _, name := range names {
		if path := os.Getenv(pathVariables[name]); path != "" {
			return exec.LookPath(path)
		}
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
		for _, dir := range directories {
			if path, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("lab: none of %v is installed", names)
}
