package race

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"

	"example.com/flashsale/loadtest/rig"
)

// An archive keeps races in a directory, each in a file of its own that the page
// opens as well. The names sort by the time of the start.
type archive string

// maxRaces bounds the races that a session remembers and keeps. A race of 20,000
// claims takes some 20 MB.
const maxRaces = 50

// read returns the races of earlier sessions, oldest first. A file that holds no
// race of this version is left alone.
func (a archive) read() (races []*live) {
	for _, file := range a.files() {
		var r Race
		text, err := os.ReadFile(file)
		if err == nil && json.Unmarshal(text, &r) == nil && r.Version == Version &&
			r.ID+".json" == filepath.Base(file) {
			races = append(races, newLive(r))
		}
	}
	return races
}

// keep writes a race that has ended, and removes the oldest beyond maxRaces.
func (a archive) keep(r Race) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = rig.WriteFile(filepath.Join(string(a), r.ID+".json"), text)
	}
	errs := []error{err}
	files := a.files()
	for _, file := range files[:max(0, len(files)-maxRaces)] {
		errs = append(errs, os.Remove(file))
	}
	return errors.Join(errs...)
}

// files returns the races' files, oldest first.
func (a archive) files() []string {
	files, _ := filepath.Glob(filepath.Join(string(a), "2*-*.json")) // the pattern is right
	return slices.Sorted(slices.Values(files))
}
