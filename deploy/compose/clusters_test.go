package compose

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
)

// withEnvFile loads docker-compose.yml as docker compose does, with --env-file for
// each of files.
func withEnvFile(t *testing.T, files ...string) *types.Project {
	t.Helper()
	for i := range files {
		files[i] = filepath.Join(root, files[i])
	}
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yml")},
		cli.WithName("flashsale"), cli.WithEnvFiles(files...), cli.WithDotEnv, cli.WithDefaultProfiles())
	noError(t, err)
	p, err := options.LoadProject(t.Context())
	noError(t, err)
	return p
}

// The instances use the cluster instead of the single server, which is not
// started, and wait until it is there.
func TestRedisClusterReplacesRedis(t *testing.T) {
	p := withEnvFile(t, "deploy/compose/redis-cluster.env")
	for _, name := range []string{"api-a", "api-b"} {
		url := *p.Services[name].Environment["REDIS_URL"]
		hosts := firstGroups(`(redis-\d):6379`, url)
		if len(hosts) != 3 || !strings.HasPrefix(url, "redis+cluster://") {
			t.Errorf("%s has REDIS_URL %s", name, url)
		}
		for _, host := range hosts {
			if _, ok := p.Services[host]; !ok {
				t.Errorf("there is no %s", host)
			}
		}
		if _, ok := p.Services[name].DependsOn["redis-cluster"]; !ok {
			t.Errorf("%s does not wait for the cluster", name)
		}
	}
	if scale := p.Services["redis"].Scale; scale == nil || *scale != 0 {
		t.Error("the single server runs")
	}
}

// The service and its migrations reach MySQL at a proxy before three servers.
func TestClustersReplaceMySQL(t *testing.T) {
	for cluster, proxy := range map[string]string{"galera": "haproxy", "group-replication": "group-haproxy"} {
		p := withEnvFile(t, "deploy/compose/"+cluster+".env")
		servers := firstGroups(`(?m)^\tserver (\w+-\d) \w+-\d:3306`, read(t, "deploy/compose/"+cluster+"/haproxy.cfg"))
		if len(servers) != 3 {
			t.Fatalf("HAProxy has the servers %v", servers)
		}
		for _, name := range servers {
			if s, ok := p.Services[name]; !ok || s.Hostname != name {
				t.Errorf("there is no %s, or its host name is %q", name, s.Hostname)
			}
			if _, ok := p.Services["mysql-group"].DependsOn[name]; !ok && cluster == "group-replication" {
				t.Errorf("the group does not wait for %s", name)
			}
		}
		for _, name := range []string{"api-a", "api-b", "migrate"} {
			dsn := *p.Services[name].Environment["MYSQL_DSN"]
			if !strings.HasSuffix(dsn, "@tcp("+proxy+":3306)/flashsale") {
				t.Errorf("%s has MYSQL_DSN %s", name, dsn)
			}
		}
		if _, ok := p.Services["migrate"].DependsOn[proxy]; !ok {
			t.Errorf("migrate does not wait for %s", proxy)
		}
		if scale := p.Services["mysql"].Scale; scale == nil || *scale != 0 {
			t.Error("the single server runs")
		}
	}
}

func TestScriptsOfTheReplicationGroupKnowItsServers(t *testing.T) {
	const dir = "deploy/compose/group-replication/"
	servers := firstGroups(`(?m)^\tserver (mysql-\d) `, read(t, dir+"haproxy.cfg"))
	for _, script := range []string{"member.sh", "group.sh"} {
		if want := strings.Join(servers, " "); !strings.Contains(read(t, dir+script), want) {
			t.Errorf("HAProxy has the servers %s, %s has others", want, script)
		}
	}
}

// Without an env file none of their services runs.
func TestClustersAreOff(t *testing.T) {
	p := withEnvFile(t)
	for name := range p.Services {
		cluster := regexp.MustCompile(`^(redis|galera|mysql)-|haproxy`)
		if cluster.MatchString(name) || name == "api-c" {
			t.Errorf("%s runs", name)
		}
	}
}
