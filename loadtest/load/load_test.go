package load

import (
	"strings"
	"testing"

	"example.com/flashsale/loadtest/rig"
)

func TestTargetComesFromTheEnvironment(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		env  map[string]string
		want rig.Target
		err  string
	}{
		"no address": {map[string]string{"JWT_SECRET": "s"}, rig.Target{}, "BASE_URL"},
		"no tokens":  {map[string]string{"BASE_URL": "http://h", "ADMIN_TOKEN": "a"}, rig.Target{}, "TOKENS"},
		"trailing slash": {map[string]string{"BASE_URL": "http://h/", "ADMIN_TOKEN": "a", "JWT_SECRET": "s"},
			rig.Target{URL: "http://h", Admin: "a", Secret: "s"}, ""},
		"tokens": {map[string]string{"BASE_URL": "http://h", "ADMIN_TOKEN": "a", "TOKENS": "f"},
			rig.Target{URL: "http://h", Admin: "a", TokenFile: "f"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := targetFrom(func(key string) string { return c.env[key] })
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want one about %s", err, c.err)
				}
				return
			}
			if err != nil || got.URL != c.want.URL || got.Admin != c.want.Admin || got.Secret != c.want.Secret ||
				got.TokenFile != c.want.TokenFile {
				t.Errorf("%+v, %v; want %+v", got, err, c.want)
			}
		})
	}
}
