package kubernetes

import (
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
)

func TestPodsAreRestricted(t *testing.T) {
	m := load(t)
	if m.namespace.Labels["pod-security.kubernetes.io/enforce"] != "restricted" {
		t.Errorf("the namespace has the labels %v", m.namespace.Labels)
	}
	for _, pod := range []core.PodTemplateSpec{m.api.Spec.Template, m.migrate.Spec.Template} {
		c, s := container(t, pod), pod.Spec.SecurityContext
		if !*s.RunAsNonRoot || s.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
			t.Errorf("%s: %v", c.Name, s)
		}
		user := firstGroups(`(?m)^USER (\d+):\d+$`, read(t, "Dockerfile"))
		if len(user) != 1 || *s.RunAsUser != 65532 || user[0] != "65532" || *s.FSGroup != *s.RunAsGroup {
			t.Errorf("%s runs as %d, the image as %v; the secrets belong to group %d", c.Name, *s.RunAsUser,
				user, *s.FSGroup)
		}
		if mode := *pod.Spec.Volumes[0].Secret.DefaultMode; mode != 0o440 {
			t.Errorf("%s: secrets have the mode %o", c.Name, mode)
		}
		if s := c.SecurityContext; *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem ||
			!slices.Equal(s.Capabilities.Drop, []core.Capability{"ALL"}) || len(s.Capabilities.Add) > 0 {
			t.Errorf("%s: %v", c.Name, s)
		}
		if *pod.Spec.AutomountServiceAccountToken || *pod.Spec.EnableServiceLinks {
			t.Errorf("%s gets a token of the cluster, or variables of other services", c.Name)
		}
		if c.Resources.Requests.Cpu().IsZero() || c.Resources.Requests.Memory().IsZero() ||
			c.Resources.Limits.Memory().IsZero() || !c.Resources.Limits.Cpu().IsZero() {
			t.Errorf("%s: requests and limits are %v; want a limit of memory, none of CPU time", c.Name, c.Resources)
		}
	}
}

// One instance may be away, for an update, for a node, or by itself.
func TestThereAreTwoInstancesOnDifferentNodes(t *testing.T) {
	m := load(t)
	if m.api.Spec.Replicas != nil || *m.autoscaler.Spec.MinReplicas < 2 {
		t.Errorf("replicas %v, at least %d by the autoscaler", m.api.Spec.Replicas, *m.autoscaler.Spec.MinReplicas)
	}
	if m.budget.Spec.MaxUnavailable.IntValue() != 1 {
		t.Errorf("the budget is %v", m.budget.Spec)
	}
	update := m.api.Spec.Strategy.RollingUpdate
	if update.MaxUnavailable.IntValue() != 0 || update.MaxSurge.IntValue() != 1 {
		t.Errorf("an update takes instances before it adds them: %v", update)
	}
	var keys []string
	for _, c := range m.api.Spec.Template.Spec.TopologySpreadConstraints {
		keys = append(keys, c.TopologyKey)
	}
	if !slices.Equal(keys, []string{"kubernetes.io/hostname", "topology.kubernetes.io/zone"}) {
		t.Errorf("instances are spread over %q", keys)
	}
}

// What the comment of the autoscaler and docs/install.md count: two pools of
// MYSQL_CONNS, and one connection for the probe.
func TestConnectionsOfAnInstanceAreCounted(t *testing.T) {
	conns := firstGroups(`env:"MYSQL_CONNS" envDefault:"(\d+)"`, read(t, "internal/settings/settings.go"))
	if len(conns) != 1 || conns[0] != "24" ||
		!strings.Contains(read(t, "deploy/kubernetes/base/autoscaler.yml"), "each has up to 49 connections") {
		t.Errorf("MYSQL_CONNS is %v, the autoscaler counts with 24 × 2 + 1", conns)
	}
}
