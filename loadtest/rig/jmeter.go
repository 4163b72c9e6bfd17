package rig

import (
	"bytes"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/flashsale/internal/lab"
)

// JMeter runs a plan of loadtest/jmeter against target, without a display, and
// leaves its samples in the file results, as CSV with the names of the fields.
func JMeter(ctx context.Context, dir, plan, results, target string, properties ...string) error {
	path, err := lab.LookPath("jmeter")
	if err != nil {
		return err
	}
	plan, err = filepath.Abs(filepath.Join("loadtest", "jmeter", plan))
	if err != nil {
		return err
	}
	at, err := url.Parse(target)
	if err != nil {
		return err
	}
	args := []string{"-n", "-t", plan, "-l", results, "-j", filepath.Join(dir, "run.log")}
	for _, property := range append([]string{
		"scheme=" + at.Scheme, "host=" + at.Hostname(), "port=" + at.Port(), "sampleresult.timestamp.start=true",
		"jmeter.save.saveservice.output_format=csv", "jmeter.save.saveservice.print_field_names=true",
		"jmeter.save.saveservice.timestamp_format=ms", "httpclient4.retrycount=0",
	}, properties...) {
		args = append(args, "-J"+property)
	}
	env, err := mendDebian(ctx, path, dir)
	if err != nil {
		return err
	}
	return lab.Run(ctx, lab.Program{Name: "jmeter", Path: path, Args: args, Dir: dir, Env: env})
}

// mendDebian returns the settings under which Debian's JMeter can open a plan
// (see loadtest/jmeter/debian); any other needs none.
func mendDebian(ctx context.Context, jmeter, dir string) ([]string, error) {
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
