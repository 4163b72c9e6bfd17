#!/bin/bash
# Makes those servers join the replication group that have not. If none is in it, the
# one that has all transactions of the others begins it: no order that a user was told
# of is missing there. That needs all servers: the names of those that are left are
# arguments if one is lost for good.
set -eu
[ $# -gt 0 ] || set -- mysql-1 mysql-2 mysql-3

sql() { mysql --host="$1" --user=replication --get-server-public-key --batch --skip-column-names --execute="$2"; }
transactions() { sql "$1" "SELECT REPLACE(@@gtid_executed, '\n', '')"; }
includes() { [ "$(sql "$1" "SELECT GTID_SUBSET('$(transactions "$2")', @@gtid_executed)")" = 1 ]; }
online() {
	sql "$1" "SELECT MEMBER_STATE IN ('ONLINE', 'RECOVERING') FROM performance_schema.replication_group_members
		WHERE MEMBER_ID = @@server_uuid" | grep -q 1
}

# prepare SERVER forgets the transactions by which the image has initialised the data. A
# server with transactions that the group lacks cannot join.
prepare() {
	[ "$(sql "$1" "SELECT INSTR(@@gtid_executed, @@group_replication_group_name)")" != 0 ] ||
		sql "$1" "RESET BINARY LOGS AND GTIDS"
}

# join SERVER [STATEMENT] makes it join the group, after a statement.
join() {
	sql "$1" "STOP GROUP_REPLICATION;
		CHANGE REPLICATION SOURCE TO SOURCE_USER = 'replication', SOURCE_PASSWORD = '$MYSQL_PWD'
			FOR CHANNEL 'group_replication_recovery';
		${2:-}; START GROUP_REPLICATION; SET GLOBAL group_replication_bootstrap_group = OFF"
}

# begin makes the server with all transactions the group's first member.
begin() {
	local first=$1
	for server; do includes "$first" "$server" || first=$server; done
	for server; do
		includes "$first" "$server" || { echo "$first and $server both have transactions that the other lacks" >&2 && exit 1; }
	done
	echo "$first begins the group"
	join "$first" "SET GLOBAL group_replication_bootstrap_group = ON"
}

begun=""
for server; do
	if online "$server"; then begun=1; else prepare "$server"; fi
done
[ -n "$begun" ] || begin "$@"
for server; do online "$server" || join "$server"; done
