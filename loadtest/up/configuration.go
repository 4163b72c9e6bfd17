package up

import (
	"cmp"
	"slices"
	"strconv"

	"example.com/flashsale/internal/lab"
	"example.com/flashsale/loadtest/rig"
)

// A config is how the stack is started.
type config struct {
	inLab    bool
	settings []string // of the instances
	nginx    rig.StartNginx
}

// configuration reads LAB, LOCK, LOCK_SCOPE, COMMIT and GUARDS_OFF, and starts the
// servers that the lock needs. All other settings of the environment reach the
// instances, which check them; in the lab, those of rig.LabSettings do not.
func configuration(s *rig.Stack, getenv func(string) string) (c config, err error) {
	c.settings, err = s.LockServers(getenv("LOCK"))
	if err != nil {
		return c, err
	}
	if c.inLab, _ = strconv.ParseBool(getenv("LAB")); !c.inLab { // as in docker-compose.yml
		c.settings = append(c.settings, "LAB=false", "TRUSTED_PROXIES=127.0.0.0/8")
		c.nginx = lab.StartLimitedNginx
		return c, nil
	}
	c.nginx = lab.StartNginx
	redlock, err := s.LockServers("redlock") // for /v4/pview
	c.settings = slices.Concat(c.settings, redlock, rig.LabSettings(cmp.Or(getenv("LOCK"), "redis"),
		cmp.Or(getenv("LOCK_SCOPE"), "user"), cmp.Or(getenv("COMMIT"), "each"), getenv("GUARDS_OFF")))
	return c, err
}
