package race

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/flashsale/internal/check"
	"example.com/flashsale/internal/lock/drivers"
	"example.com/flashsale/loadtest/experiments/race/page"
)

// The commands that the page shows beside a lock are those of its driver.
func TestCommandsAreThoseOfTheDrivers(t *testing.T) {
	t.Parallel()
	names, err := page.Files.ReadFile("names.js")
	check.NoError(t, err)
	for lock, c := range map[string]struct {
		dir   string
		shown []string // in the page and, in any case of letters, in the driver
	}{
		"redis":    {"redislock", []string{"SET", "NX", "GET", "PX"}},
		"redlock":  {"redislock", []string{"SET", "NX", "GET", "PX"}},
		"redisson": {"redisson", []string{"rlock_acquire.lua", "HSET", "PEXPIRE", "rlock_release.lua", "DEL"}},
		"mysql":    {"mysqllock", []string{"INSERT INTO locks (name, owner, fence", "UPDATE locks SET owner = ''"}},
		"getlock":  {"mysqllock", []string{"GET_LOCK(SHA2(CONCAT(DATABASE(), '/', ", "RELEASE_LOCK(SHA2("}},
		"zk":       {"zklock", []string{"/locks/", "lock-"}},
		"etcd":     {"etcdlock", []string{"lock/", "put"}},
		"memcache": {"memcachelock", []string{"add", "cas", "-1"}},
	} {
		shown := regexp.MustCompile(`(?m)^    ` + lock + `: .*$`).FindString(string(names))
		code := source(t, filepath.Join("internal", "lock", c.dir))
		for _, text := range c.shown {
			if !strings.Contains(shown, text) {
				t.Errorf("%s: the page shows %q without %q", lock, shown, text)
			}
			if alias := strings.ReplaceAll(text, "cas", "CompareAndSwap"); !strings.Contains(strings.ToLower(code),
				strings.ToLower(alias)) {
				t.Errorf("%s: the driver has no %q", lock, text)
			}
		}
	}
	each := regexp.MustCompile(`(?m)^    (` + strings.Join(drivers.Remote, "|") + `): \[`)
	if n := len(each.FindAll(names, -1)); n != len(drivers.Remote) {
		t.Errorf("the page has the commands of %d locks, want %d", n, len(drivers.Remote))
	}
}

// source returns the text of all files in a directory.
func source(t *testing.T, dir string) (all string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		all += string(text)
		return err
	})
	check.NoError(t, err)
	return all
}
