package lab

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
)

// startCtld starts vtctld. Without it vtctldclient can do all but switch the traffic of a Reshard.
func (v *Vitess) startCtld() (*Server, error) {
	return v.start("vtctld", func(port, web string) []string {
		return []string{
			"--port", web, "--grpc-bind-address", "127.0.0.1", "--grpc-port", port, "--service-map", "grpc-vtctld",
		}
	})
}

// control runs vtctldclient and returns what it prints.
func (v *Vitess) control(ctx context.Context, args ...string) ([]byte, error) {
	all := append([]string{"--server", v.ctld.Address}, args...)
	out, err := exec.CommandContext(ctx, filepath.Join(v.Bin, "vtctldclient"), all...).Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("lab: vtctldclient %s: %w: %s", strings.Join(args, " "), err, exit.Stderr)
	}
	return out, err
}

func (v *Vitess) controlEach(commands ...[]string) error {
	for _, args := range commands {
		if _, err := v.control(context.Background(), args...); err != nil {
			return err
		}
	}
	return nil
}

// startOrc starts vtorc, which promotes a replica when a primary is dead.
func (v *Vitess) startOrc() error {
	_, err := v.start("vtorc", func(port, _ string) []string {
		return []string{
			"--cell", "zone1", "--port", port, "--instance-poll-time", "1s",
			"--topo-information-refresh-duration", "2s", "--wait-replicas-timeout", "5s",
		}
	})
	return err
}
