package kubernetes

import (
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
)

func TestServiceReadsWhatItIsGiven(t *testing.T) {
	m := load(t)
	config := read(t, "internal/settings/settings.go")
	known := firstGroups(`env:"([A-Z_]+)`, config)
	secret := firstGroups(`env:"([A-Z_]+)[^"]*"[^\n]* secret:"true"`, config)
	if len(known) < 10 || len(secret) < 3 {
		t.Fatalf("settings.go has %d settings, %d of them secrets: have they moved?", len(known), len(secret))
	}
	for name := range m.settings.Data {
		if !slices.Contains(known, name) && !strings.HasPrefix(name, "GO") || slices.Contains(secret, name) {
			t.Errorf("%s is no setting, or a secret", name)
		}
	}
	for _, c := range []core.Container{container(t, m.api.Spec.Template), container(t, m.migrate.Spec.Template)} {
		for _, env := range c.Env {
			if name, file := strings.CutSuffix(env.Name, "_FILE"); !file || !slices.Contains(secret, name) {
				t.Errorf("%s sets %s, which is no secret in a file", c.Name, env.Name)
			}
		}
	}
	given := slices.Concat(names(container(t, m.api.Spec.Template).Env), []string{"JWT_SECRET_FILE"})
	for _, name := range firstGroups(`env:"([A-Z_]+),required`, config) {
		if !slices.Contains(given, name+"_FILE") {
			t.Errorf("the required %s is not given", name)
		}
	}
	if from := container(t, m.api.Spec.Template).EnvFrom; len(from) != 1 ||
		from[0].ConfigMapRef.Name != m.settings.Name {
		t.Errorf("settings come from %v, not from %s", from, m.settings.Name)
	}
}

// Each file that a setting names is a key of the Secret that is mounted there, and
// the Secret has no other.
func TestSecretsComeFromFiles(t *testing.T) {
	m := load(t)
	for _, pod := range []core.PodTemplateSpec{m.api.Spec.Template, m.migrate.Spec.Template} {
		c, volumes := container(t, pod), pod.Spec.Volumes
		if len(c.VolumeMounts) != 1 || len(volumes) != 1 || c.VolumeMounts[0].Name != volumes[0].Name {
			t.Fatalf("%s mounts %v of %v", c.Name, c.VolumeMounts, volumes)
		}
		var keys []string
		for _, env := range c.Env {
			dir, file := path.Split(env.Value)
			if path.Clean(dir) != c.VolumeMounts[0].MountPath {
				t.Errorf("%s: %s is %s, mounted is %s", c.Name, env.Name, env.Value, c.VolumeMounts[0].MountPath)
			}
			keys = append(keys, file)
		}
		secret, found := m.secrets[volumes[0].Secret.SecretName]
		if !found || len(secret.Data) != len(keys) {
			t.Errorf("%s reads %q of %s, which has %d keys", c.Name, keys, volumes[0].Secret.SecretName,
				len(secret.Data))
		}
		for _, key := range keys {
			if len(secret.Data[key]) == 0 {
				t.Errorf("%s reads %s, which %s lacks", c.Name, key, secret.Name)
			}
		}
	}
}

// A pod is still sent requests after SIGTERM, and SIGKILL ends those in flight.
func TestPodsDrainBeforeTheyAreKilled(t *testing.T) {
	m := load(t)
	spec := m.api.Spec.Template.Spec
	delay, timeout := duration(t, m.settings.Data["DRAIN_DELAY"]), duration(t, m.settings.Data["DRAIN_TIMEOUT"])
	grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
	if delay+timeout+5*time.Second > grace {
		t.Errorf("DRAIN_DELAY %v and DRAIN_TIMEOUT %v do not fit into %v with 5s to spare", delay, timeout, grace)
	}
	probe := spec.Containers[0].ReadinessProbe
	if unready := time.Duration(probe.PeriodSeconds*probe.FailureThreshold) * time.Second; delay <= unready {
		t.Errorf("DRAIN_DELAY %v ends before a probe is sure to be seen failing, after %v", delay, unready)
	}
	if scrape := duration(t, string(m.monitor.Spec.Endpoints[0].Interval)); delay <= scrape {
		t.Errorf("Prometheus, every %v, misses a drain of %v", scrape, delay)
	}
}

// The load tests measure instances with the same Go runtime settings, and compose
// runs them with the same memory.
func TestRuntimeIsThatOfTheLab(t *testing.T) {
	m := load(t)
	settings := firstGroups(`"(GO[A-Z]+=[^"]+)"`, read(t, "internal/lab/api.go"))
	for _, setting := range settings {
		name, value, _ := strings.Cut(setting, "=")
		if m.settings.Data[name] != value {
			t.Errorf("the lab sets %s, not %q", setting, m.settings.Data[name])
		}
	}
	if len(settings) != 2 {
		t.Errorf("lab.RuntimeEnv sets %q: has it moved?", settings)
	}
	memory := firstGroups(`GOMEMLIMIT: .*\n  mem_limit: (\d+)m\n`, read(t, "docker-compose.yml"))
	limits := container(t, m.api.Spec.Template).Resources.Limits
	if len(memory) != 1 || memory[0]+"Mi" != limits.Memory().String() {
		t.Errorf("an instance has %v, in compose %q", limits.Memory(), memory)
	}
}

func TestSchemaIsMigratedByTheJobOnly(t *testing.T) {
	m := load(t)
	if m.settings.Data["MIGRATE"] != "false" {
		t.Error("the instances migrate as well")
	}
	source := read(t, "cmd/api/main.go")
	for _, pod := range []core.PodTemplateSpec{m.api.Spec.Template, m.migrate.Spec.Template} {
		c := container(t, pod)
		if len(c.Args) != 1 || len(c.Command) != 0 || !strings.Contains(source, `case "`+c.Args[0]+`":`) {
			t.Errorf("%s runs %q %q", c.Name, c.Command, c.Args)
		}
	}
	if api := container(t, m.api.Spec.Template).Image; api != container(t, m.migrate.Spec.Template).Image ||
		api == "flashsale" {
		t.Errorf("the instances run %s, the Job runs %s", api, container(t, m.migrate.Spec.Template).Image)
	}
	// What "kubectl apply -l" applies first.
	for _, labels := range []map[string]string{m.migrate.Labels, m.secrets[m.migrate.Spec.Template.Spec.Volumes[0].
		Secret.SecretName].Labels} {
		if labels["app.kubernetes.io/component"] != "migrate" {
			t.Errorf("the Job or its Secret has the labels %v", labels)
		}
	}
}

func container(t *testing.T, pod core.PodTemplateSpec) core.Container {
	t.Helper()
	if len(pod.Spec.Containers) != 1 || len(pod.Spec.InitContainers) != 0 {
		t.Fatalf("%d containers", len(pod.Spec.Containers))
	}
	return pod.Spec.Containers[0]
}

func names(env []core.EnvVar) []string {
	var all []string
	for _, e := range env {
		all = append(all, e.Name)
	}
	return all
}

func duration(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	noError(t, err)
	return d
}
