// Package compose tests docker-compose.yml and the Dockerfile without a
// container engine.
package compose

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

const root = "../.."

// project loads docker-compose.yml with the variables env (KEY=value).
func project(t *testing.T, env ...string) *types.Project {
	t.Helper()
	p, err := loadFiles(t, []string{"docker-compose.yml"}, env...)
	noError(t, err)
	return p
}

// loadFiles loads files, of which the later ones override the first, with Compose's loader, which
// checks the schema, references and dependencies.
func loadFiles(t *testing.T, files []string, env ...string) (*types.Project, error) {
	t.Helper()
	var paths []string
	for _, file := range files {
		paths = append(paths, filepath.Join(root, file))
	}
	options, err := cli.NewProjectOptions(paths,
		cli.WithName("flashsale"), cli.WithEnv(env), cli.WithProfiles([]string{
			"load", "observe", "third", "redis-cluster", "galera", "group-replication",
		}))
	noError(t, err)
	return options.LoadProject(t.Context())
}

func noError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	noError(t, err)
	return string(b)
}

// firstGroups returns the first group of every match of pattern in text.
func firstGroups(pattern, text string) []string {
	var found []string
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	return found
}

// The default secrets are public.
func TestDefaultSecretsAreReachableFromThisMachineOnly(t *testing.T) {
	for _, service := range project(t).Services {
		for _, port := range service.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %d on %q", service.Name, port.Target, port.HostIP)
			}
		}
	}
	if err := startNginx(t, project(t)); err != nil {
		t.Errorf("without BIND: %v", err)
	}
	const all, secret = "BIND=0.0.0.0", "JWT_SECRET=of-the-operator"
	const password, migrate = "MYSQL_PASSWORD=of-the-operator", "MYSQL_MIGRATE_PASSWORD=of-migrations"
	for _, env := range [][]string{
		{all}, {all, secret, password}, {all, secret, migrate}, {all, password, migrate},
		{all, password, migrate, "JWT_SECRET="},
	} {
		if err := startNginx(t, project(t, env...)); err == nil || !strings.Contains(err.Error(), "BIND requires") {
			t.Errorf("%q: %v, want a missing secret", env, err)
		}
	}
	public := project(t, all, secret, password, migrate)
	services := public.Services
	if err := startNginx(t, public); err != nil || services["nginx"].Ports[0].HostIP != "0.0.0.0" {
		t.Errorf("with %s nginx publishes on %q: %v", all, services["nginx"].Ports[0].HostIP, err)
	}
	for _, name := range []string{"api-a", "api-b", "api-c", "k6"} {
		if got := services[name].Environment["JWT_SECRET"]; *got != "of-the-operator" {
			t.Errorf("%s has JWT_SECRET %q", name, *got)
		}
	}
	const service = "flashsale:of-the-operator"
	for name, account := range map[string]string{
		"api-a": service, "api-b": service, "api-c": service, "migrate": "migrate:of-migrations",
	} {
		if got := services[name].Environment["MYSQL_DSN"]; *got != account+"@tcp(mysql:3306)/flashsale" {
			t.Errorf("%s has MYSQL_DSN %q", name, *got)
		}
	}
	if accounts := public.Configs["accounts"].Content; !strings.Contains(accounts, "BY 'of-migrations'") {
		t.Errorf("MySQL makes the accounts by %s", accounts)
	}
}

// Every database server limits the service's account when it initialises its data.
func TestServiceCannotChangeTheSchema(t *testing.T) {
	p := project(t)
	const limited = "\nGRANT SELECT, INSERT, UPDATE, DELETE ON flashsale.* TO 'flashsale'@'%';"
	if accounts := p.Configs["accounts"].Content; !strings.Contains(accounts, limited) {
		t.Errorf("MySQL makes the accounts by %s", accounts)
	}
	database := regexp.MustCompile(`^(mysql|mariadb):`)
	for name, s := range p.Services {
		if !database.MatchString(s.Image) || name == "mysql-group" {
			continue
		}
		if !slices.ContainsFunc(s.Configs, func(c types.ServiceConfigObjConfig) bool {
			return c.Source == "accounts" && strings.HasPrefix(c.Target, "/docker-entrypoint-initdb.d/")
		}) {
			t.Errorf("%s does not make the accounts: %v", name, s.Configs)
		}
	}
}

// startNginx runs nginx's entrypoint, with a program in place of nginx that ends
// at once. The error says what the entrypoint has printed.
func startNginx(t *testing.T, p *types.Project) error {
	t.Helper()
	dir := t.TempDir()
	noError(t, os.WriteFile(filepath.Join(dir, "nginx"), []byte("#!/bin/sh\n"), 0o755))
	nginx := p.Services["nginx"]
	cmd := exec.Command(nginx.Entrypoint[0], nginx.Entrypoint[1:]...)
	cmd.Args[2] = strings.ReplaceAll(cmd.Args[2], "$$", "$")
	cmd.Env = []string{"PATH=" + dir + ":/usr/bin:/bin"}
	for key, value := range nginx.Environment {
		cmd.Env = append(cmd.Env, key+"="+*value)
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// Compose before 5 evaluates a required variable also where it is inside of
// another that does not need it.
func TestNoRequiredVariableIsInsideOfAnother(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy/compose/*.yml"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range append(files, filepath.Join(root, "docker-compose.yml")) {
		text, err := os.ReadFile(file)
		noError(t, err)
		if found := regexp.MustCompile(`\$\{\w+:?[-+][^}]*\$\{\w+:?\?`).Find(text); found != nil {
			t.Errorf("%s: %s", file, found)
		}
	}
}

// internal/lab tests that listen.conf with real connections.
func TestTLSReplacesPlainHTTP(t *testing.T) {
	files := []string{"docker-compose.yml", "deploy/compose/tls.yml"}
	if _, err := loadFiles(t, files); err == nil {
		t.Error("TLS without a certificate")
	}
	p, err := loadFiles(t, files, "TLS_DIRECTORY=/certificates", "TLS_USER=1234")
	noError(t, err)
	nginx := p.Services["nginx"]
	if len(nginx.Ports) != 1 || nginx.Ports[0].Target != 8443 || nginx.Ports[0].HostIP != "127.0.0.1" {
		t.Errorf("nginx publishes %v", nginx.Ports)
	}
	listen, err := filepath.Abs(filepath.Join(root, "deploy/nginx/tls/listen.conf"))
	noError(t, err)
	v := nginx.Volumes
	if len(v) != 3 || v[1].Source != listen || v[1].Target != "/etc/nginx/site/listen.conf" {
		t.Fatalf("nginx mounts %v", v)
	}
	if nginx.User != "1234" || v[2].Source != "/certificates" || !v[2].ReadOnly || bool(v[2].Bind.CreateHostPath) {
		t.Errorf("nginx runs as %s and mounts %+v", nginx.User, v[2])
	}
	// a mounted file would remain the old one after a rename
	files = firstGroups(`(?m)^ssl_certificate(?:_key)? (\S+);`, read(t, "deploy/nginx/tls/listen.conf"))
	if !slices.Equal(files, []string{v[2].Target + "/tls.crt", v[2].Target + "/tls.key"}) {
		t.Errorf("nginx reads %v, and mounts %s", files, v[2].Target)
	}
	// the certificate's date is measured at nginx's own address
	targets := p.Services["prometheus"].Volumes[2]
	if !strings.HasSuffix(targets.Source, "deploy/compose/certificate.yml") ||
		!strings.Contains(read(t, "deploy/compose/certificate.yml"), `"https://nginx:8443/readyz"`) ||
		!strings.Contains(read(t, "deploy/observe/prometheus.yml"), targets.Target) {
		t.Errorf("Prometheus mounts %+v", targets)
	}
}

func TestServiceReadsWhatComposeSets(t *testing.T) {
	p := project(t)
	config := read(t, "internal/settings/settings.go")
	known, required := firstGroups(`env:"([A-Z_]+)`, config), firstGroups(`env:"([A-Z_]+),required`, config)
	if len(known) < 10 || len(required) < 2 {
		t.Fatalf("settings.go has %d settings, %d of them required: have they moved?", len(known), len(required))
	}
	for _, name := range []string{"api-a", "api-b", "api-c", "migrate"} {
		for key := range p.Services[name].Environment {
			// the SDK reads these
			if !slices.Contains(known, key) && !strings.HasPrefix(key, "GO") && !strings.HasPrefix(key, "OTEL_") {
				t.Errorf("%s sets %s, which the service does not read", name, key)
			}
		}
	}
	for _, name := range []string{"api-a", "api-b", "api-c"} {
		env := p.Services[name].Environment
		for _, key := range append(required, "JWT_SECRET") {
			if env[key] == nil {
				t.Errorf("%s does not set %s", name, key)
			}
		}
		if secret := env["JWT_SECRET"]; secret != nil && len(*secret) < 32 {
			t.Errorf("%s: the default JWT_SECRET has %d bytes, the service requires 32", name, len(*secret))
		}
	}
}

// The load tests measure instances with the same Go runtime settings as the
// deployed ones.
func TestLabSetsSameRuntimeAsCompose(t *testing.T) {
	env := project(t).Services["api-a"].Environment
	settings := firstGroups(`"(GO[A-Z]+=[^"]+)"`, read(t, "internal/lab/api.go"))
	for _, setting := range settings {
		key, value, _ := strings.Cut(setting, "=")
		if env[key] == nil || *env[key] != value {
			t.Errorf("the lab sets %s, compose does not", setting)
		}
	}
	if len(settings) != 2 {
		t.Errorf("lab.RuntimeEnv sets %q: has it moved?", settings)
	}
}

func TestInstancesDifferOnlyInName(t *testing.T) {
	p := project(t)
	a, b := p.Services["api-a"].Environment, p.Services["api-b"].Environment
	for key, value := range a {
		if same := b[key] != nil && *b[key] == *value; same == (key == "INSTANCE") {
			t.Errorf("%s: a has %q, b %v", key, *value, b[key])
		}
	}
}

func TestScriptsReadWhatComposeSets(t *testing.T) {
	var scripts strings.Builder
	files, err := filepath.Glob(filepath.Join(root, "loadtest/k6/lib/*.js"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		noError(t, err)
		scripts.Write(b)
	}
	known := firstGroups(`__ENV\.([A-Z_0-9]+)`, scripts.String())
	k6 := project(t).Services["k6"]
	for key := range k6.Environment {
		if !slices.Contains(known, key) {
			t.Errorf("k6 sets %s, which no script reads", key)
		}
	}
	script := strings.Replace(k6.Command[1], "/scripts/", "loadtest/k6/", 1)
	read(t, script)
	if !slices.Equal(k6.Profiles, []string{"load"}) {
		t.Errorf("k6 runs in the profiles %v", k6.Profiles)
	}
	if pinned := firstGroups(`go\.k6\.io/k6 v(\S+)`, read(t, "loadtest/k6/build/go.mod")); k6.Image != "grafana/k6:"+
		pinned[0] {
		t.Errorf("compose runs %s, make builds %s", k6.Image, pinned[0])
	}
}

func TestNginxRunsTestedConfiguration(t *testing.T) {
	p := project(t)
	nginx := p.Services["nginx"]
	dir, err := filepath.Abs(filepath.Join(root, "deploy/nginx"))
	noError(t, err)
	if v := nginx.Volumes; len(v) != 1 || v[0].Source != dir || v[0].Target != "/etc/nginx" {
		t.Errorf("nginx mounts %v", v)
	}
	for _, name := range []string{"api-a", "api-b", "api-c"} {
		api := p.Services[name]
		server := api.Networks["default"].Aliases[0] + *api.Environment["HTTP_ADDR"]
		for _, target := range firstGroups(`(?m)^server (\S+)`, read(t, "deploy/nginx/site/upstream.conf")) {
			if server != target {
				t.Errorf("nginx forwards claims to %s, %s is %s", target, name, server)
			}
		}
	}
	listen := firstGroups(`(?m)^listen (\d+)`, read(t, "deploy/nginx/site/listen.conf"))
	if len(listen) != 1 || len(nginx.Ports) != 1 || listen[0] != "8080" || nginx.Ports[0].Target != 8080 {
		t.Errorf("nginx listens on %v and publishes %v", listen, nginx.Ports)
	}
	if !strings.Contains(nginx.Entrypoint[2], "pid nginx.pid;") { // only root may write the image's
		t.Errorf("nginx starts by %s", nginx.Entrypoint[2])
	}
}

// A recreated container has a new address. Without these directives nginx looks
// its name up once, at its own start. They exist since nginx 1.27.3.
func TestNginxFollowsARecreatedInstance(t *testing.T) {
	upstream := read(t, "deploy/nginx/site/upstream.conf")
	servers := firstGroups(`(?m)^server (.+);`, upstream)
	if len(servers) < 2 {
		t.Fatalf("%d servers in upstream.conf: have they moved?", len(servers))
	}
	for _, server := range servers {
		if !slices.Contains(strings.Fields(server), "resolve") {
			t.Errorf("server %s is looked up once", server)
		}
	}
	if len(firstGroups(`(?m)^resolver (127\.0\.0\.11 valid=\d+s)`, upstream)) != 1 {
		t.Error("no resolver with a short validity in the upstream")
	}
	if !strings.Contains(read(t, "deploy/nginx/nginx.conf"), "zone instances") {
		t.Error("the upstream has no zone, which resolve needs")
	}
	version := firstGroups(`^nginx:1\.(\d+)\.`, project(t).Services["nginx"].Image)
	if len(version) != 1 {
		t.Fatal("the image's version is not pinned as nginx:1.x")
	}
	if minor, err := strconv.Atoi(version[0]); err != nil || minor < 28 {
		t.Errorf("nginx 1.%s has no resolve in upstreams", version[0])
	}
}

func TestServicesWaitForTheirDependencies(t *testing.T) {
	p := project(t)
	const healthy, done = types.ServiceConditionHealthy, types.ServiceConditionCompletedSuccessfully
	for name, needs := range map[string]map[string]string{
		"migrate": {"mysql": healthy},
		"api-a":   {"migrate": done, "redis": healthy},
		"api-b":   {"migrate": done, "redis": healthy},
		"api-c":   {"migrate": done, "redis": healthy},
		"nginx":   {"api-a": healthy, "api-b": healthy},
		"k6":      {"nginx": healthy},
	} {
		for other, condition := range needs {
			if got := p.Services[name].DependsOn[other].Condition; got != condition {
				t.Errorf("%s waits for %s to be %q, want %q", name, other, got, condition)
			}
			if condition == healthy && p.Services[other].HealthCheck == nil {
				t.Errorf("%s has no health check to wait for", other)
			}
		}
	}
}

// The test runs the Dockerfile's build command, for arm64, which make does not
// build.
func TestImageBuildsStatically(t *testing.T) {
	dockerfile := read(t, "Dockerfile")
	build := firstGroups(`(?m)^RUN (CGO_ENABLED=0 .*go build .*)$`, dockerfile)
	if len(build) != 1 || !strings.Contains(dockerfile, "\nUSER 65532:65532\n") ||
		!strings.Contains(dockerfile, "\nFROM scratch\n") {
		t.Fatalf("the Dockerfile builds with %q; want one static build, from scratch, not as root", build)
	}
	binary := filepath.Join(t.TempDir(), "api")
	cmd := exec.Command("sh", "-c", strings.Replace(build[0], "-o /api", "-o "+binary, 1))
	cmd.Dir = root
	const version = "v1.2.3-of-this-test"
	cmd.Env = append(os.Environ(), "TARGETOS=linux", "TARGETARCH=arm64", "VERSION="+version)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	file, err := elf.Open(binary)
	noError(t, err)
	defer file.Close()
	if built, err := os.ReadFile(binary); err != nil || !bytes.Contains(built, []byte(version)) {
		t.Errorf("the binary does not know its version: %v", err)
	}
	if file.Machine != elf.EM_AARCH64 || file.Section(".interp") != nil {
		t.Errorf("the binary is for %v, dynamically linked: %v; want static for arm64", file.Machine,
			file.Section(".interp") != nil)
	}
}

// net.core.somaxconn cuts every listen backlog. Before Linux 5.4 it is 128.
func TestQueuesOfNewConnectionsAreLong(t *testing.T) {
	const queue = `(?m)^listen .*(backlog=(\d+) .*);`
	listen := regexp.MustCompile(queue).FindStringSubmatch(read(t, "deploy/nginx/site/listen.conf"))
	if listen == nil {
		t.Fatal("listen.conf has no backlog: has it moved?")
	}
	if tls := firstGroups(queue, read(t, "deploy/nginx/tls/listen.conf")); !slices.Equal(tls, listen[1:2]) {
		t.Errorf("with TLS nginx listens with %q, without it with %q", tls, listen[1])
	}
	p := project(t)
	for _, name := range []string{"api-a", "api-b", "api-c", "nginx"} {
		if got := p.Services[name].Sysctls["net.core.somaxconn"]; got != listen[2] {
			t.Errorf("%s: net.core.somaxconn is %q, nginx's backlog %s", name, got, listen[2])
		}
	}
}
