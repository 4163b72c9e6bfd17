// Package kubernetes tests the manifests without a cluster: kustomize builds
// them, and every document has to fit its type.
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const root = "../.."

// manifests holds what deploy/kubernetes/example builds.
type manifests struct {
	namespace  core.Namespace
	settings   core.ConfigMap
	secrets    map[string]core.Secret
	api        apps.Deployment
	migrate    batch.Job
	autoscaler autoscaling.HorizontalPodAutoscaler
	budget     policy.PodDisruptionBudget
	service    core.Service
	ingress    networking.Ingress
	policies   map[string]networking.NetworkPolicy
	monitor    monitoring.ServiceMonitor
}

// load builds the example and decodes every document into its type, which fails
// for a field that the type does not have and for one that is given twice.
func load(t *testing.T) manifests {
	t.Helper()
	m := manifests{secrets: map[string]core.Secret{}, policies: map[string]networking.NetworkPolicy{}}
	text, err := build()
	noError(t, err)
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		m.add(t, document)
	}
	return m
}

func (m *manifests) add(t *testing.T, document []byte) {
	t.Helper()
	var secret core.Secret
	var networkPolicy networking.NetworkPolicy
	types := map[string]any{
		"Namespace": &m.namespace, "ConfigMap": &m.settings, "Secret": &secret,
		"Deployment": &m.api, "Job": &m.migrate, "HorizontalPodAutoscaler": &m.autoscaler,
		"PodDisruptionBudget": &m.budget, "Service": &m.service, "Ingress": &m.ingress,
		"NetworkPolicy": &networkPolicy, "ServiceMonitor": &m.monitor,
	}
	kind := firstGroups(`(?m)^kind: (\w+)$`, string(document))
	if len(kind) != 1 || types[kind[0]] == nil {
		t.Fatalf("kind %q is not tested:\n%s", kind, document)
	}
	if err := yaml.UnmarshalStrict(document, types[kind[0]]); err != nil {
		t.Fatalf("%s: %v", kind[0], err)
	}
	switch kind[0] {
	case "Secret":
		m.secrets[secret.Name] = secret
	case "NetworkPolicy":
		m.policies[networkPolicy.Name] = networkPolicy
	}
}

// build runs kustomize on a copy of the example that has secrets.
var build = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "manifests")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	cmd := exec.Command("sh", "build.sh", dir)
	cmd.Stderr = os.Stderr
	return cmd.Output()
})

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

// A Service, an Ingress or a monitor that names something else gets nothing.
func TestEverythingIsInOneNamespaceAndNamedOnce(t *testing.T) {
	text, err := build()
	noError(t, err)
	namespace := load(t).namespace.Name
	for _, other := range firstGroups(`(?m)^  namespace: (\S+)$`, string(text)) {
		if other != namespace {
			t.Errorf("namespace %s beside %s", other, namespace)
		}
	}
	seen := map[string]bool{}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		name := firstGroups(`(?m)^kind: (\S+)$`, document)[0] + " " + firstGroups(`(?m)^  name: (\S+)$`, document)[0]
		if seen[name] {
			t.Errorf("%s twice", name)
		}
		seen[name] = true
	}
}
