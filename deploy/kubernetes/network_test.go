package kubernetes

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// One port goes from the listener through pod, Service, Ingress, policies and
// monitor, and one set of labels selects the pods.
func TestEverythingLeadsToTheInstances(t *testing.T) {
	m := load(t)
	port := container(t, m.api.Spec.Template).Ports[0]
	if address := fmt.Sprint(":", port.ContainerPort); address != m.settings.Data["HTTP_ADDR"] {
		t.Errorf("the service listens on %s, the pod offers %s", m.settings.Data["HTTP_ADDR"], address)
	}
	service := m.service.Spec.Ports[0]
	if service.TargetPort.String() != port.Name || m.monitor.Spec.Endpoints[0].Port != service.Name {
		t.Errorf("Service %v, monitor %v, port %v", service, m.monitor.Spec.Endpoints[0], port)
	}
	for _, path := range paths(m) {
		if b := path.Backend.Service; b.Name != m.service.Name || b.Port.Name != service.Name {
			t.Errorf("%s leads to %v", path.Path, b)
		}
	}
	pod := labels.Set(m.api.Spec.Template.Labels)
	for name, selector := range map[string]map[string]string{
		"Deployment": m.api.Spec.Selector.MatchLabels, "Service": m.service.Spec.Selector,
		"PodDisruptionBudget": m.budget.Spec.Selector.MatchLabels,
	} {
		if len(selector) == 0 || !labels.SelectorFromSet(selector).Matches(pod) ||
			labels.SelectorFromSet(selector).Matches(labels.Set(m.migrate.Spec.Template.Labels)) {
			t.Errorf("%s selects %v, the pods have %v", name, selector, pod)
		}
	}
	if !labels.SelectorFromSet(m.monitor.Spec.Selector.MatchLabels).Matches(labels.Set(m.service.Labels)) {
		t.Errorf("the monitor selects %v", m.monitor.Spec.Selector)
	}
	if to := m.autoscaler.Spec.ScaleTargetRef; to.Kind != "Deployment" || to.Name != m.api.Name {
		t.Errorf("the autoscaler scales %v", to)
	}
	if !strings.Contains(read(t, "deploy/observe/rules.yml"), `job="`+m.service.Name+`"`) {
		t.Errorf("the rules do not select the job %s", m.service.Name)
	}
}

func paths(m manifests) []networking.HTTPIngressPath { return m.ingress.Spec.Rules[0].HTTP.Paths }

func TestProbesAndMetricsAreRoutes(t *testing.T) {
	m := load(t)
	c := container(t, m.api.Spec.Template)
	routes := read(t, "internal/httpapi/routes.go")
	for _, path := range []string{
		c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path, m.monitor.Spec.Endpoints[0].Path,
	} {
		if !strings.Contains(routes, `"`+path+`"`) {
			t.Errorf("%s is no route", path)
		}
	}
	if c.LivenessProbe.HTTPGet.Path != "/livez" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("the probes ask %s and %s", c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path)
	}
}

// Metrics would tell everybody how a sale goes; deploy/nginx refuses them as well.
func TestIngressHasEveryOperationAndNothingElse(t *testing.T) {
	var want, got []string
	for _, route := range firstGroups(`"(?:GET|POST|PATCH|PUT|DELETE) (/\w+)`, read(t, "internal/httpapi/routes.go")) {
		want = append(want, route)
	}
	for _, path := range paths(load(t)) {
		if path.Backend.Service != nil {
			got = append(got, path.Path)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	want = append(slices.Compact(want), "/docs", "/openapi.json")
	slices.Sort(want)
	if len(want) < 5 || !slices.Equal(got, want) {
		t.Errorf("the Ingress has %q, want %q", got, want)
	}
}

// Whoever reaches an instance directly chooses the address that it is limited by.
func TestOnlyIngressAndPrometheusReachTheInstances(t *testing.T) {
	m := load(t)
	if got := slices.Sorted(maps.Keys(m.policies)); !slices.Equal(got,
		[]string{"default-deny", "flashsale", "flashsale-prometheus"}) {
		t.Errorf("the policies are %q", got)
	}
	deny := m.policies["default-deny"].Spec
	if len(deny.PodSelector.MatchLabels) != 0 || len(deny.Ingress) != 0 ||
		!slices.Equal(deny.PolicyTypes, []networking.PolicyType{networking.PolicyTypeIngress}) {
		t.Errorf("default-deny is %v", deny)
	}
	for _, name := range []string{"flashsale", "flashsale-prometheus"} {
		p := m.policies[name].Spec
		if !labels.SelectorFromSet(p.PodSelector.MatchLabels).Matches(labels.Set(m.api.Spec.Template.Labels)) ||
			len(p.Ingress) != 1 || len(p.Ingress[0].From) != 1 || len(p.Ingress[0].Ports) != 1 {
			t.Fatalf("%s is %v", name, p)
		}
		from := p.Ingress[0].From[0]
		if from.IPBlock != nil || from.NamespaceSelector == nil || len(from.NamespaceSelector.MatchLabels) == 0 {
			t.Errorf("%s admits %v", name, from)
		}
		if port := p.Ingress[0].Ports[0].Port.String(); port != container(t, m.api.Spec.Template).Ports[0].Name {
			t.Errorf("%s admits to port %s", name, port)
		}
	}
	if m.service.Spec.Type != "" && m.service.Spec.Type != core.ServiceTypeClusterIP {
		t.Errorf("the Service is a %s", m.service.Spec.Type)
	}
}
