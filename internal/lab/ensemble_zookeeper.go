package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// StartZooKeeperEnsemble starts ZooKeeper on three hosts of a new network. Its
// servers notice that one of them is silent after three seconds.
func StartZooKeeperEnsemble(l *Lab) (*Ensemble, error) {
	return startEnsemble(l, ZooKeeperServer, "zookeeper", 2181, func(m *Member, dir string, id int) (Program, error) {
		m.leads = func(ctx context.Context) (bool, error) {
			reply, err := zookeeperCommand(ctx, m.Address, "srvr")
			return strings.Contains(reply, "Mode: leader"), err
		}
		config := "tickTime=200\ninitLimit=50\nsyncLimit=15\n"
		for i, h := range m.peers {
			config += fmt.Sprintf("server.%d=%s:2888:3888\n", i+1, h.Address)
		}
		data := filepath.Join(dir, "data")
		if err := errors.Join(os.Mkdir(data, 0o755),
			os.WriteFile(filepath.Join(data, "myid"), fmt.Append(nil, id), 0o644)); err != nil {
			return Program{}, err
		}
		return zookeeperProgram(dir, m.Address, config)
	})
}
