package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"

	"example.com/flashsale/internal/lab/labtest"
	"example.com/flashsale/migrations"
)

// After the return to an older version, the schema is the newer version's. An
// instance of the older one may migrate or not, and the command must not fail
// either: compose starts the instances after it.
func TestOlderVersionServesWithANewerSchemaIfThatIsMarkedCompatible(t *testing.T) {
	t.Parallel()
	for _, migrate := range []string{"true", "false"} {
		env := environ(t, map[string]string{"MIGRATE": migrate, "MYSQL_DSN": newerSchema(t, "version")})
		var stderr strings.Builder
		if err := run(t.Context(), []string{"migrate"}, from(env), io.Discard, &stderr); err != nil {
			t.Errorf("api migrate: %v", err)
		}
		if !strings.Contains(stderr.String(), "newer version") {
			t.Errorf("api migrate is silent about the newer schema: %q", stderr.String())
		}
		i := start(t, maps.Clone(env)).ready(t)
		i.createCoupon(t, 1)
		const warning = "a newer version of the service has migrated the schema; it is marked as compatible with this one"
		if i.log.Find(warning, "level") != "WARN" {
			t.Errorf("MIGRATE=%s: the log has no warning", migrate)
		}
		env["MYSQL_DSN"] = newerSchema(t, "version + 1")
		if err := run(t.Context(), nil, from(env), io.Discard, io.Discard); !errors.Is(err, migrations.ErrTooNew) {
			t.Errorf("MIGRATE=%s, not marked: the service ended with %v", migrate, err)
		}
	}
}

// newerSchema returns the DSN of a database with one version more than this
// binary's, which is marked as compatible with binaries from oldest on.
func newerSchema(t *testing.T, oldest string) string {
	t.Helper()
	dsn := labtest.DSN(t)
	db := labtest.Open(t, dsn)
	db.MustExec(fmt.Sprintf(`REPLACE INTO schema_compatibility SELECT version + 1, %s FROM flashsale_migrations`, oldest))
	db.MustExec(`UPDATE flashsale_migrations SET version = version + 1`)
	return dsn
}
