package migrations_test

import (
	"encoding/json"
	"os"
	"testing"

	"example.com/flashsale/internal/check"
)

// Vitess sends a row to a shard by a column, and takes no table that its vschema lacks. Of a
// column that each shard counts by itself, two shards have the same numbers.
func TestVSchemaOfVitessHasEachTable(t *testing.T) {
	t.Parallel()
	var vschema struct {
		Tables map[string]struct {
			Vindexes []struct{ Column string } `json:"column_vindexes"`
			Sequence struct{ Column string }   `json:"auto_increment"`
		}
	}
	text, err := os.ReadFile("../deploy/vitess/vschema.json")
	check.NoError(t, err)
	check.NoError(t, json.Unmarshal(text, &vschema))
	db := emptyDatabase(t)
	mustUp(t, db)
	var columns []struct {
		Table, Column string
		Counted       bool
	}
	check.NoError(t, db.Select(&columns, `
		SELECT table_name AS "table", column_name AS "column", extra LIKE '%auto_increment%' AS counted
		FROM information_schema.columns WHERE table_schema = DATABASE()`))
	found := map[string]bool{}
	for _, c := range columns {
		in := vschema.Tables[c.Table]
		if len(in.Vindexes) != 1 {
			t.Fatalf("the vschema has no shard of table %s", c.Table)
		}
		found[c.Table] = found[c.Table] || in.Vindexes[0].Column == c.Column
		if c.Counted && in.Sequence.Column != c.Column {
			t.Errorf("%s.%s has no sequence", c.Table, c.Column)
		}
	}
	for name := range vschema.Tables {
		if !found[name] {
			t.Errorf("the tables have no shard column of %s", name)
		}
	}
}
