package compose

import (
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
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]string{
		"mysql": {"MYSQL_PASSWORD"}, "migrate": {"MYSQL_DSN"}, "api-a": {"MYSQL_DSN", "JWT_SECRET"},
		"api-b": {"MYSQL_DSN", "JWT_SECRET"}, "api-c": {"MYSQL_DSN", "JWT_SECRET"},
		"k6": {"JWT_SECRET"},
	} {
		checkSecrets(t, p, name, want)
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
