#!/bin/sh
# wsrep_sst_copy transfers the state of a Galera node, the donor, to one that
# joins, by copying files: both are on this machine. Each of the two servers runs
# it and reads its output, like the scripts that MariaDB brings (wsrep_sst_rsync
# and others). Those need a TCP port, and rsync's daemon does not write as root.
set -eu

bypass="" parent=$PPID
while [ $# -gt 0 ]; do
	case $1 in
	--role) role=$2 && shift ;;
	--address) joiner=$2 && shift ;; # what the joiner has printed as ready
	--parent) parent=$2 && shift ;;
	--datadir) data=${2%/} && shift ;;
	--gtid) gtid=$2 && shift ;;
	--gtid-domain-id) domain=$2 && shift ;;
	--bypass) bypass=1 ;; # the donor sends the missing transactions itself
	esac
	shift
done

# await FILE blocks until FILE exists. It exits if the server has ended.
await() {
	until [ -e "$1" ]; do
		kill -0 "$parent" 2>/dev/null || exit 32
		sleep 0.02
	done
}

# copy_files replaces the joiner's tables by those of this node.
copy_files() {
	set -- galera.cache grastate.dat gvwstate.dat # each node has its own
	for file in "$joiner"/* "$data"/*; do
		case " $* " in *" ${file##*/} "*) continue ;; esac
		case $file in
		"$joiner"/*) rm -rf "$file" ;;
		*) cp -R "$file" "$joiner" ;;
		esac
	done
}

case $role in
joiner)
	rm -f "$data/sst_state"
	echo "ready $data"
	await "$data/sst_state"
	cat "$data/sst_state"
	;;
donor)
	state="$gtid $domain"
	if [ -z "$bypass" ]; then
		rm -f "$data/tables_flushed"
		echo "flush tables"
		await "$data/tables_flushed"
		state=$(cat "$data/tables_flushed")
		rm "$data/tables_flushed"
		copy_files
	fi
	echo continue
	echo "$state" >"$joiner/sst_state.new"
	mv "$joiner/sst_state.new" "$joiner/sst_state"
	echo "done $state"
	;;
esac
