package settings

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"example.com/flashsale/internal/check"
)

// writeFile writes a file of the test, and returns its path.
func writeFile(tb testing.TB, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "setting")
	check.NoError(tb, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestSecretsAreReadFromFiles(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 32)
	values := map[string]string{
		"MYSQL_DSN": "root:a b@tcp(db)/x", "REDIS_URL": "redis://:p@r/0", "JWT_SECRET": long + "'\" é",
		"JWT_SECRETS": "a=" + long, "LOCK": "redlock", "REDLOCK_URLS": "redis://1,redis://2,redis://3",
	}
	want, err := From(from(values))
	check.NoError(t, err)
	for _, around := range [][2]string{
		{"", ""}, {"", "\n"}, {"", "\r\n"}, {"\ufeff", ""}, {"\ufeff", "\r\n\n"},
	} {
		variables, files := map[string]string{}, map[string]string{}
		for name, value := range values {
			variables[name] = around[0] + value + around[1]
			files[name] = variables[name]
			if name != "LOCK" {
				delete(files, name)
				files[name+"_FILE"] = writeFile(t, variables[name]) + around[1]
			}
		}
		for _, env := range []map[string]string{variables, files} {
			if got, err := From(from(env)); err != nil || !reflect.DeepEqual(got, want) {
				t.Errorf("%q: %v\n%+v, want\n%+v", around, err, got, want)
			}
		}
	}
}

// A program that removes what surrounds a value may have read the same file.
func TestSettingsThatWerePastedWrongAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("s", 32)
	values := map[string]string{
		"MYSQL_DSN": "root@tcp(db)/x", "REDIS_URL": "redis://r", "JWT_SECRET": long, "JWT_SECRETS": "a=" + long,
		"JWT_JWKS": "https://login/keys", "JWT_ISSUER": "shop", "JWT_AUDIENCE": "sale", "ETCD_ADDR": "e:2379",
		"REDLOCK_URLS": "redis://1", "TRUSTED_PROXIES": "10.0.0.0/8", "LOG_LEVEL": "info", "INSTANCE": "a",
		"OTEL_EXPORTER_OTLP_ENDPOINT": "http://o:4318", "HTTP_ADDR": "[::1]:1", "CLAIM_TIMEOUT": "1s",
	}
	for before, problem := range map[string]string{
		"\"%s\"": "is in quotes", "'%s'": "is in quotes", "“%s”": "is in quotes", "`%s`\n": "is in quotes",
		" %s": "has a blank at an end", "%s ": "has a blank at an end", "%s  \n": "has a blank at an end",
		"%s\t": "cannot be seen, U+0009", "%s\u00a0": "cannot be seen, U+00A0", "\u200b%s": "cannot be seen, U+200B",
		"\ufeff%s\ufeff": "cannot be seen, U+FEFF", "\x1b%s": "cannot be seen, U+001B",
		"%s\nx": "has more than one line", "%s\x00": "is not text in UTF-8", "\xff\xfe%s": "is not text in UTF-8",
		"NAME=%s": "begins with its own name",
	} {
		for name, value := range values {
			env := maps.Clone(values)
			env[name] = strings.ReplaceAll(strings.ReplaceAll(before, "NAME", name), "%s", value)
			_, err := From(from(env))
			if err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), problem) ||
				strings.Contains(err.Error(), value) && len(value) > 8 || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s=%q: %v, want %q", name, env[name], err, problem)
			}
		}
	}
	for name, value := range map[string]string{
		"JWT_SECRETS": `a="` + long + `="`, "REDLOCK_URLS": `"redis://1","redis://2"`, "GUARDS_OFF": "stock, unique",
		"JWT_SECRET_FILE": `"/run/secrets/x"`, "MYSQL_DSN_FILE": "/x ", "TRUSTED_PROXIES": "10.0.0.0/8, 11.0.0.0/8",
	} {
		env := maps.Clone(values)
		delete(env, strings.TrimSuffix(name, "_FILE"))
		env[name] = value
		if _, err := From(from(env)); err == nil || !strings.Contains(err.Error(), "is in quotes") &&
			!strings.Contains(err.Error(), "has a blank at an end") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}

// pipe returns the path of a named pipe that nobody writes to.
func pipe(tb testing.TB) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "pipe")
	check.NoError(tb, syscall.Mkfifo(path, 0o600))
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
			if _, err := From(from(env)); err == nil || err.Error() != name+": "+problem {
				t.Errorf("%v, want %s: %s", err, name, problem)
			}
		}
		env := maps.Clone(valid)
		env[name+"_FILE"] = writeFile(t, valid[name])
		if _, err := From(from(env)); err == nil || err.Error() != name+": "+name+
			"_FILE is set as well; set one of them" {
			t.Errorf("both are set: %v", err)
		}
	}
}
