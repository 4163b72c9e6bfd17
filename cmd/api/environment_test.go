package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// writeFile writes a file of the test, and returns its path.
func writeFile(tb testing.TB, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "setting")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestSecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 32)
	values := map[string]string{
		"MYSQL_DSN": "root:a b@tcp(db)/x", "REDIS_URL": "redis://:p@r/0", "JWT_SECRET": " " + long + " ",
		"JWT_SECRETS": "a=" + long, "LOCK": "redlock", "REDLOCK_URLS": "redis://1,redis://2,redis://3",
	}
	want, err := configFrom(from(values))
	if err != nil {
		t.Fatal(err)
	}
	for _, lineEnd := range []string{"", "\n", "\r\n"} {
		files := map[string]string{"LOCK": "redlock"}
		for _, name := range []string{"MYSQL_DSN", "REDIS_URL", "JWT_SECRET", "JWT_SECRETS", "REDLOCK_URLS"} {
			files[name+"_FILE"] = writeFile(t, values[name]+lineEnd)
		}
		got, err := configFrom(from(files))
		if err != nil {
			t.Errorf("line end %q: %v", lineEnd, err)
		}
		if got.MySQLDSN != want.MySQLDSN || got.RedisURL != want.RedisURL || got.JWTSecret != want.JWTSecret ||
			strings.Join(got.JWTSecrets, ",") != values["JWT_SECRETS"] ||
			strings.Join(got.RedlockURLs, ",") != values["REDLOCK_URLS"] {
			t.Errorf("line end %q: %+v, want %+v", lineEnd, got, want)
		}
	}
}

// pipe returns the path of a named pipe that nobody writes to.
func pipe(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "pipe")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestBadFilesOfSecretsAreReported(t *testing.T) {
	t.Parallel()
	valid := map[string]string{"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": secret}
	for name := range valid {
		for problem, file := range map[string]string{
			"the file of " + name + "_FILE cannot be read: no such file or directory": "/nowhere/" + secret,
			"the file of " + name + "_FILE cannot be read: is a directory":            t.TempDir(),
			"the file of " + name + "_FILE is empty":                                  writeFile(t, "\n"),
			"the file of " + name + "_FILE has more than one line":                    writeFile(t, valid[name]+"\nx"),
			"the file of " + name + "_FILE is not a regular file":                     pipe(t),
		} {
			env := maps.Clone(valid)
			delete(env, name)
			env[name+"_FILE"] = file
			if _, err := configFrom(from(env)); err == nil || err.Error() != name+": "+problem {
				t.Errorf("%v, want %s: %s", err, name, problem)
			}
		}
		env := maps.Clone(valid)
		env[name+"_FILE"] = writeFile(t, valid[name])
		if _, err := configFrom(from(env)); err == nil || err.Error() != name+": "+name+
			"_FILE is set as well; set one of them" {
			t.Errorf("both are set: %v", err)
		}
	}
}

// The commands that need one setting read it from its file as well.
func TestCommandsReadSecretsFromFiles(t *testing.T) {
	t.Parallel()
	env := settings(t, nil)
	file := writeFile(t, env["MYSQL_DSN"]+"\n")
	if err := run(t.Context(), []string{"migrate"}, from(map[string]string{"MYSQL_DSN_FILE": file}), io.Discard,
		io.Discard); err != nil {
		t.Errorf("migrate: %v", err)
	}
	arguments := []string{"token", "--user", "42"}
	if err := run(t.Context(), arguments, from(map[string]string{"JWT_SECRET_FILE": writeFile(t, secret)}), io.Discard,
		io.Discard); err != nil {
		t.Errorf("token: %v", err)
	}
	for _, command := range [][]string{{"migrate"}, arguments} {
		missing := map[string]string{"MYSQL_DSN_FILE": "/nowhere", "JWT_SECRET_FILE": "/nowhere"}
		if err := run(t.Context(), command, from(missing), io.Discard, io.Discard); err == nil ||
			!strings.Contains(err.Error(), "_FILE cannot be read") {
			t.Errorf("%s: %v", command[0], err)
		}
	}
}
