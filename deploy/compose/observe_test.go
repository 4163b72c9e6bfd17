package compose

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The programs of the profile observe run what the tests of the dashboards and
// rules have read.
func TestObserveMountsTestedConfiguration(t *testing.T) {
	p := project(t)
	for name, want := range map[string][2]string{
		"prometheus": {"deploy/observe", "/etc/prometheus"},
		"grafana":    {"deploy/observe/grafana", "/etc/grafana/provisioning"},
	} {
		s := p.Services[name]
		dir, err := filepath.Abs(filepath.Join(root, want[0]))
		noError(t, err)
		if len(s.Volumes) == 0 || s.Volumes[0].Source != dir || s.Volumes[0].Target != want[1] ||
			!s.Volumes[0].ReadOnly {
			t.Errorf("%s mounts %v", name, s.Volumes)
		}
		if !slices.Equal(s.Profiles, []string{"observe"}) {
			t.Errorf("%s runs in the profiles %v", name, s.Profiles)
		}
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes %+v to others", name, port)
			}
		}
	}
	home := p.Services["grafana"].Environment["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
	read(t, strings.Replace(*home, "/etc/grafana/provisioning", "deploy/observe/grafana", 1))
}

func TestPrometheusScrapesEveryInstance(t *testing.T) {
	p := project(t)
	var instances, targets []string
	for name, s := range p.Services {
		if s.Environment["HTTP_ADDR"] != nil {
			instances = append(instances, name+*s.Environment["HTTP_ADDR"])
		}
	}
	for _, name := range firstGroups(`(?m)^ +- names: \[(.*)\]$`, read(t, "deploy/observe/prometheus.yml")) {
		targets = append(targets, name+":8080") // by DNS, because it may not exist
	}
	for _, list := range firstGroups(`(?m)^ +- targets: \[(.*)\]$`, read(t, "deploy/observe/prometheus.yml")) {
		targets = append(targets, firstGroups(`"([^"]+)"`, list)...)
	}
	slices.Sort(instances)
	slices.Sort(targets)
	if !slices.Equal(instances, targets) || len(targets) < 2 {
		t.Errorf("scrapes %v, the instances are %v", targets, instances)
	}
}

func TestGrafanaReadsPrometheus(t *testing.T) {
	source := read(t, "deploy/observe/grafana/datasources/prometheus.yml")
	if !strings.Contains(source, "\n    uid: prometheus ") ||
		!strings.Contains(source, "\n    url: http://prometheus:9090\n") {
		t.Errorf("data source: %s", source)
	}
	interval := firstGroups(`(?m)^  scrape_interval: (\S+)`, read(t, "deploy/observe/prometheus.yml"))
	if len(interval) != 1 || !strings.Contains(source, "timeInterval: "+interval[0]) {
		t.Errorf("Prometheus scrapes every %v, which the data source does not say", interval)
	}
}

// A grafanaDashboard is the part of a dashboard that can be wrong in ways that
// Grafana does not report.
type grafanaDashboard struct {
	UID        string
	Panels     []panel
	Templating struct {
		List []struct{ Datasource datasource }
	}
}

type panel struct {
	ID          int
	Type, Title string
	Datasource  datasource
	GridPos     struct{ X, Y, W, H int }
	Targets     []struct{ RefID, Expr string }
}

type datasource struct{ Type, UID string }

func TestDashboardsAreSound(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "deploy/observe/grafana/dashboards/*.json"))
	if err != nil || len(files) != 3 {
		t.Fatalf("%d dashboards: %v", len(files), err)
	}
	uids := map[string]bool{}
	for _, file := range files {
		path, err := filepath.Rel(root, file)
		noError(t, err)
		var d grafanaDashboard
		if err := json.Unmarshal([]byte(read(t, path)), &d); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if d.UID == "" || uids[d.UID] {
			t.Errorf("%s: uid %q is empty or not unique", path, d.UID)
		}
		uids[d.UID] = true
		for _, v := range d.Templating.List {
			checkDatasource(t, path, v.Datasource)
		}
		checkPanels(t, path, d.Panels)
	}
}

func checkDatasource(t *testing.T, where string, d datasource) {
	t.Helper()
	if d != (datasource{"prometheus", "prometheus"}) {
		t.Errorf("%s: data source %+v", where, d)
	}
}

// checkPanels checks that ids and references are unique, and that no panel
// covers another.
func checkPanels(t *testing.T, path string, panels []panel) {
	t.Helper()
	ids, cells := map[int]bool{}, map[[2]int]string{}
	for _, p := range panels {
		where := path + ": " + p.Title
		checkDatasource(t, where, p.Datasource)
		if p.ID == 0 || ids[p.ID] || p.Title == "" || !slices.Contains([]string{"timeseries", "stat"}, p.Type) ||
			len(p.Targets) == 0 {
			t.Errorf("%s: id %d, type %q, %d targets", where, p.ID, p.Type, len(p.Targets))
		}
		ids[p.ID] = true
		references := map[string]bool{}
		for _, target := range p.Targets {
			if target.RefID == "" || references[target.RefID] || target.Expr == "" {
				t.Errorf("%s: target %+v", where, target)
			}
			references[target.RefID] = true
		}
		if g := p.GridPos; g.W < 1 || g.H < 1 || g.X < 0 || g.X+g.W > 24 {
			t.Errorf("%s: position %+v", where, g)
		}
		for x := range p.GridPos.W {
			for y := range p.GridPos.H {
				cell := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
				if other := cells[cell]; other != "" {
					t.Fatalf("%s covers %s", where, other)
				}
				cells[cell] = where
			}
		}
	}
}
