#!/bin/bash
# Starts a node of the Galera cluster, in MariaDB's own image. The cluster is begun
# by the node that stopped last, or, without any data, by the first node, unless
# another one is serving. Otherwise the node joins. Nodes that stop at the same
# time do not know who was last: docker-compose.yml stops one after the other.
set -eu
nodes="galera-1 galera-2 galera-3"
state=/var/lib/mysql/grastate.dat

begins() {
	if [ -e "$state" ]; then
		grep -q '^safe_to_bootstrap: 1' "$state"
	else
		[ "$HOSTNAME" = galera-1 ] && ! serves galera-2 && ! serves galera-3
	fi
}

serves() { timeout 1 bash -c "</dev/tcp/$1/3306" 2>/dev/null; } # a node listens when it has joined

if begins; then set -- --wsrep-new-cluster; fi
# users.sql makes the account that copies the data to a joining node.
exec docker-entrypoint.sh mariadbd \
	--wsrep-on=ON --wsrep-provider=/usr/lib/galera/libgalera_smm.so \
	--wsrep-cluster-name=flashsale --wsrep-cluster-address="gcomm://${nodes// /,}" --wsrep-node-name="$HOSTNAME" \
	--wsrep-sst-method=mariabackup --wsrep-sst-auth=mysql: \
	--binlog-format=ROW --innodb-autoinc-lock-mode=2 --max-connections=500 "$@"
