package compose

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"
)

// With secrets.yml no container has a secret in its environment, and each gets
// the files that its settings name.
func TestSecretsComeFromFiles(t *testing.T) {
	files := []string{"docker-compose.yml", "deploy/compose/secrets.yml"}
	if _, err := loadFiles(t, files); err == nil {
		t.Error("secrets without a directory")
	}
	p, err := loadFiles(t, files, "SECRETS=/s", "BIND=0.0.0.0")
	noError(t, err)
	for name, want := range map[string][]string{
		"mysql": {"MYSQL_PASSWORD"}, "api-a": {"MYSQL_DSN", "JWT_SECRET"},
		"api-b": {"MYSQL_DSN", "JWT_SECRET"}, "api-c": {"MYSQL_DSN", "JWT_SECRET"},
		"k6": {"JWT_SECRET"},
	} {
		checkSecrets(t, p, name, want)
	}
	migrate := p.Services["migrate"]
	if path := migrate.Environment["MYSQL_DSN_FILE"]; path == nil || *path != "/run/secrets/mysql_dsn_migrate" ||
		*migrate.Environment["MYSQL_DSN"] != "" || len(migrate.Secrets) != 1 {
		t.Errorf("migrate has %v and %v", migrate.Environment, migrate.Secrets)
	}
	if accounts := p.Configs["accounts"]; accounts.File != "/s/accounts.sql" || accounts.Content != "" {
		t.Errorf("MySQL makes the accounts by %+v", accounts)
	}
	if err := startNginx(t, p); err != nil {
		t.Errorf("BIND with secrets of the operator: %v", err)
	}
	for name, service := range p.Services {
		for key, value := range service.Environment {
			if value != nil && strings.Contains(*value, "only-for-trying") {
				t.Errorf("%s has a secret in %s", name, key)
			}
		}
	}
}

// The script makes the accounts that docker-compose.yml makes, with other passwords.
func TestScriptMakesTheSecrets(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "secrets")
	script := filepath.Join(root, "deploy/compose/secrets.sh")
	if out, err := exec.Command("bash", script, dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	p, err := loadFiles(t, []string{"docker-compose.yml", "deploy/compose/secrets.yml"}, "SECRETS="+dir)
	noError(t, err)
	made := map[string]string{}
	files := []string{p.Configs["accounts"].File}
	for _, secret := range p.Secrets {
		files = append(files, secret.File)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		noError(t, err)
		made[filepath.Base(file)] = strings.TrimSpace(string(text))
	}
	if len(made["jwt_secret"]) < 32 ||
		made["mysql_dsn"] != "flashsale:"+made["mysql_password"]+"@tcp(mysql:3306)/flashsale" {
		t.Errorf("made %v", made)
	}
	password := firstGroups(`^migrate:(\w{32})@tcp\(mysql:3306\)/flashsale$`, made["mysql_dsn_migrate"])
	if len(password) != 1 || password[0] == made["mysql_password"] {
		t.Fatalf("made %v", made)
	}
	shipped := strings.TrimSpace(project(t, "MYSQL_MIGRATE_PASSWORD="+password[0]).Configs["accounts"].Content)
	if made["accounts.sql"] != shipped {
		t.Errorf("accounts.sql is %s, docker-compose.yml has %s", made["accounts.sql"], shipped)
	}
}

func checkSecrets(t *testing.T, p *types.Project, service string, settings []string) {
	t.Helper()
	s := p.Services[service]
	if len(s.Secrets) != len(settings) {
		t.Errorf("%s gets %v, want %v", service, s.Secrets, settings)
	}
	for _, setting := range settings {
		file := strings.ToLower(setting)
		if value := s.Environment[setting]; value != nil && *value != "" {
			t.Errorf("%s has %s in its environment", service, setting)
		}
		if path := s.Environment[setting+"_FILE"]; path == nil || *path != "/run/secrets/"+file {
			t.Errorf("%s has %s_FILE %v", service, setting, path)
		}
		if !slices.ContainsFunc(s.Secrets, func(c types.ServiceSecretConfig) bool { return c.Source == file }) ||
			p.Secrets[file].File != "/s/"+file {
			t.Errorf("%s does not get %s, or it is %q", service, file, p.Secrets[file].File)
		}
	}
}
