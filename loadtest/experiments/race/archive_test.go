package race

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"example.com/flashsale/internal/check"
)

// Races outlive their session, but only the last of them.
func TestRacesAreKeptForTheNextSession(t *testing.T) {
	t.Parallel()
	kept := archive(t.TempDir())
	var ids []string
	for i := range maxRaces + 3 {
		r := Race{Version: Version, ID: newID(time.Unix(int64(1800000000+i), 0)), State: Ended}
		ids = append(ids, r.ID)
		check.NoError(t, kept.keep(r))
	}
	old := filepath.Join(string(kept), ids[10]+".json")
	check.NoError(t, os.WriteFile(old, []byte(`{"version":1,"id":"`+ids[10]+`"}`), 0o644))
	var got []string
	for _, l := range kept.read() {
		got = append(got, l.race.ID)
	}
	if want := append(ids[3:10:10], ids[11:]...); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("the next session knows %v, want %v", got, want)
	}
	if _, err := os.Stat(old); err != nil {
		t.Errorf("a race of another version: %v", err)
	}
}
