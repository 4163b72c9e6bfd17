package rig

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/flashsale/internal/lab"
)

// JMeterReport is the directory of JMeter's own dashboard, which JMeter 3 and
// later write.
const JMeterReport = "jmeter"

// RunJMeter runs a plan of loadtest/jmeter, or one with an absolute path, against the service at target,
// without a display, with properties (name=value). It leaves the samples in
// dir/results.csv and returns those that are called label. variables are the
// columns that the plan adds to JMeter's own.
func RunJMeter(
	ctx context.Context, dir, plan, target, label string, variables []string, properties ...string,
) ([]Sample, error) {
	path, err := lab.LookPath("jmeter")
	if err != nil {
		return nil, err
	}
	if !filepath.IsAbs(plan) {
		if plan, err = filepath.Abs(filepath.Join("loadtest", "jmeter", plan)); err != nil {
			return nil, err
		}
	}
	u, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	results := filepath.Join(dir, "results.csv")
	args := []string{"-n", "-t", plan, "-l", results, "-j", filepath.Join(dir, "run.log")}
	for _, property := range append([]string{
		"scheme=" + u.Scheme, "host=" + u.Hostname(), "port=" + u.Port(), "sampleresult.timestamp.start=true",
		"jmeter.save.saveservice.output_format=csv", "jmeter.save.saveservice.print_field_names=true",
		"jmeter.save.saveservice.timestamp_format=ms", "httpclient4.retrycount=0",
		"sample_variables=" + strings.Join(variables, ","),
	}, properties...) {
		args = append(args, "-J"+property)
	}
	env, err := DebianClassPath(ctx, path, dir)
	if err != nil {
		return nil, err
	}
	if env == nil { // Debian's JMeter 2.13 has no dashboard
		args = append(args, "-e", "-o", filepath.Join(dir, JMeterReport))
	}
	if err := lab.Run(ctx, lab.Program{Name: "jmeter", Path: path, Args: args, Dir: dir, Env: env}); err != nil {
		return nil, err
	}
	return readResults(results, label, variables)
}

// DebianClassPath returns the settings (KEY=value) under which Debian's JMeter can open
// a plan (see loadtest/jmeter/debian), with classes in dir. Any other JMeter needs none.
func DebianClassPath(ctx context.Context, jmeter, dir string) ([]string, error) {
	script, err := os.ReadFile(jmeter)
	if err != nil || !bytes.Contains(script, []byte("java-wrappers")) {
		return nil, err
	}
	sources, err := filepath.Glob(filepath.Join("loadtest", "jmeter", "debian", "*.java"))
	if err != nil {
		return nil, err
	}
	classes := filepath.Join(dir, "classes")
	compile := exec.CommandContext(ctx, "javac", append([]string{"-nowarn", "-d", classes}, sources...)...)
	if out, err := compile.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("javac: %w: %s", err, out)
	}
	return []string{"JAVA_ARGS=-Xbootclasspath/a:" + classes}, nil
}

// readResults reads the samples called label from JMeter's CSV, whose first line
// names the columns.
func readResults(file, label string, variables []string) ([]Sample, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s: no samples", file)
	}
	for _, name := range append([]string{"timeStamp", "elapsed", "label", "responseCode"}, variables...) {
		if !slices.Contains(lines[0], name) {
			return nil, fmt.Errorf("%s: no column %q", file, name)
		}
	}
	var samples []Sample
	for _, line := range lines[1:] {
		row := map[string]string{}
		for i, name := range lines[0] {
			row[name] = line[i]
		}
		if row["label"] != label {
			continue
		}
		sent, err := strconv.ParseInt(row["timeStamp"], 10, 64)
		elapsed, elapsedErr := strconv.ParseInt(row["elapsed"], 10, 64)
		if err := errors.Join(err, elapsedErr); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		c := Claim{Sent: time.UnixMilli(sent), Received: time.UnixMilli(sent + elapsed), Instance: row["instance"]}
		samples = append(samples, Sample{c, row})
	}
	return samples, nil
}
