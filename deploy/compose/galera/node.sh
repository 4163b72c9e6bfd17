#!/bin/bash
# Starts a node of the Galera cluster, in MariaDB's own image. A cluster is begun
# by the first node if it has no data yet, or, after all have stopped, by the node
# that stopped last. Otherwise, or if another node is running, the node joins.
set -eu
nodes="galera-1 galera-2 galera-3"
state=/var/lib/mysql/grastate.dat

begins() {
	for node in $nodes; do
		[ "$node" = "$HOSTNAME" ] || ! timeout 1 bash -c "</dev/tcp/$node/4567" 2>/dev/null || return 1
	done
	if [ -e "$state" ]; then grep -q '^safe_to_bootstrap: 1' "$state"; else [ "$HOSTNAME" = galera-1 ]; fi
}

if begins; then set -- --wsrep-new-cluster; fi
# users.sql makes the account that copies the data to a joining node.
exec docker-entrypoint.sh mariadbd \
	--wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so \
	--wsrep-cluster-name=flashsale --wsrep-cluster-address="gcomm://${nodes// /,}" --wsrep-node-name="$HOSTNAME" \
	--wsrep-sst-method=mariabackup --wsrep-sst-auth=mysql: \
	--binlog-format=ROW --innodb-autoinc-lock-mode=2 --max-connections=500 "$@"
