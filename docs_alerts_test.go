package flashsale_test

import (
	"regexp"
	"testing"
)

// The annotation runbook of an alert is a path and an anchor.
func TestEveryAlertHasARunbook(t *testing.T) {
	t.Parallel()
	rules := read(t, "deploy/observe/rules.yml")
	alerts := regexp.MustCompile(`- alert: `).FindAllString(rules, -1)
	runbooks := regexp.MustCompile(`runbook: (\S+#\S+)`).FindAllStringSubmatch(rules, -1)
	if len(runbooks) != len(alerts) || len(alerts) == 0 {
		t.Errorf("%d alerts have %d runbooks", len(alerts), len(runbooks))
	}
	for _, m := range runbooks {
		checkLink(t, "README.md", m[1])
	}
}
