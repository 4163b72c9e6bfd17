package compose

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Without limits one service can take the machine's memory or fill its disk.
func TestEveryServiceIsLimited(t *testing.T) {
	for name, s := range project(t).Services {
		if s.MemLimit == 0 || s.PidsLimit == 0 {
			t.Errorf("%s: memory is limited to %d, processes to %d", name, s.MemLimit, s.PidsLimit)
		}
		if s.Logging == nil || s.Logging.Options["max-size"] == "" || s.Logging.Options["max-file"] == "" {
			t.Errorf("%s: logs are not rotated", name)
		}
		for _, mount := range s.Tmpfs {
			if !strings.Contains(mount, "size=") {
				t.Errorf("%s: tmpfs %s has no size", name, mount)
			}
		}
	}
}

// The images of databases start as root, to give their user the data, unless they are
// started as that user.
func TestServicesHaveNoCapabilities(t *testing.T) {
	database := regexp.MustCompile(`^(mysql|mariadb|redis):`)
	for name, s := range project(t).Services {
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || len(s.CapAdd) > 0 {
			t.Errorf("%s drops the capabilities %v, want ALL, and adds %v", name, s.CapDrop, s.CapAdd)
		}
		if database.MatchString(s.Image) && s.User != "mysql" && s.User != "redis" && s.Name != "redis-cluster" {
			t.Errorf("%s runs as %q, with capabilities that it does not have", name, s.User)
		}
	}
}

func TestEveryServerHasAHealthCheck(t *testing.T) {
	without := []string{"migrate", "mysql-group", "redis-cluster", "k6", "jaeger"} // jobs; an image without a shell
	for name, s := range project(t).Services {
		if found := s.HealthCheck != nil && !s.HealthCheck.Disable; found == slices.Contains(without, name) {
			t.Errorf("%s has a health check: %v", name, found)
		}
	}
}

// Dependabot raises versions, and digests once they have been added.
func TestImagesHaveExactVersions(t *testing.T) {
	exact := regexp.MustCompile(`^[a-z0-9/]+:v?\d+\.\d+\.\d+(-alpine)?(@sha256:[0-9a-f]{64})?$`)
	images := firstGroups(`(?m)^FROM (?:--platform=\S+ )?(golang\S+)`, read(t, "Dockerfile"))
	for _, s := range project(t).Services {
		if s.Build == nil {
			images = append(images, s.Image)
		}
	}
	if len(images) < 10 {
		t.Fatalf("%d images", len(images))
	}
	for _, image := range images {
		if !exact.MatchString(image) {
			t.Errorf("image %s", image)
		}
	}
	for _, ecosystem := range []string{"docker", "docker-compose", "github-actions"} {
		if len(firstGroups(`(package-ecosystem: `+ecosystem+`)\n`, read(t, ".github/dependabot.yml"))) != 1 {
			t.Errorf("dependabot does not update %s", ecosystem)
		}
	}
}
