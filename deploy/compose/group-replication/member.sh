#!/bin/bash
# Starts a member of the replication group, in MySQL's own image. At its first start
# the image initialises the data; group.sh then makes it join the group. Later it
# joins by itself, if the others are a majority.
set -eu
members="mysql-1 mysql-2 mysql-3"
join=OFF
[ ! -d /var/lib/mysql/mysql ] || join=ON

seeds=""
for member in $members; do seeds="$seeds,$member:33061"; done
# "loose", because the image starts a server without plugins as well.
exec docker-entrypoint.sh mysqld --max-connections=500 \
	--server-id="${HOSTNAME##*-}" --report-host="$HOSTNAME" --gtid-mode=ON --enforce-gtid-consistency=ON \
	--plugin-load-add=group_replication.so \
	--loose-group-replication-group-name=f1a55a1e-0000-4000-8000-000000000001 \
	--loose-group-replication-local-address="$HOSTNAME:33061" --loose-group-replication-group-seeds="${seeds#,}" \
	--loose-group-replication-recovery-get-public-key=ON --loose-group-replication-start-on-boot=$join "$@"
