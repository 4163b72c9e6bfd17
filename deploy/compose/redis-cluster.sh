#!/bin/sh
# Makes the six Redis servers a cluster: three masters, each with a replica. If
# they are one already, it tells them their addresses, which change when all
# containers are started again.
set -eu
numbers="1 2 3 4 5 6"
addresses=""
for n in $numbers; do
	addresses="$addresses $(getent hosts "redis-$n" | cut -d ' ' -f 1)"
done

if redis-cli -h redis-1 cluster info | grep -q '^cluster_slots_assigned:0'; then
	# shellcheck disable=SC2046 # one argument for each server
	redis-cli --cluster create $(printf '%s:6379 ' $addresses) --cluster-replicas 1 --cluster-yes
else
	for address in $addresses; do redis-cli -h redis-1 cluster meet "$address" 6379; done
fi

# Two nodes that have exchanged their addresses forget each other's, and only a meeting of the two
# tells them: what clients hear from either lacks a master meanwhile.
for n in $numbers; do
	until redis-cli -h "redis-$n" cluster info | grep -q '^cluster_state:ok' &&
		! redis-cli -h "redis-$n" cluster nodes | grep -q noaddr; do
		for address in $addresses; do redis-cli -h "redis-$n" cluster meet "$address" 6379; done
		sleep 1
	done
done
