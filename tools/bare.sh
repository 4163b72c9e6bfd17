#!/bin/bash
# Runs the make target $1 once, with the shortest settings that it has, as
# .github/workflows/bare.yml does in a container that has nothing. A target that
# serves until Ctrl-C is interrupted when it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
export BENCH=quick CLUSTER=quick FAULTS=quick SOAK=60s SEEDS=3 EXAMPLES=5 FUZZTIME=1s BEFORE=HEAD~1 RANGE=HEAD~1..HEAD
mkdir -p out

# serve TARGET starts the target, and waits until it can be used.
serve() {
	set -m # so that it can be interrupted as by Ctrl-C
	make "$1" >out/bare.txt 2>&1 &
	server=$!
	until grep -q 'Ctrl-C' out/bare.txt; do
		kill -0 $server 2>/dev/null || { cat out/bare.txt && exit 1; }
		sleep 1
	done
}

# interrupt ends what serve has started.
interrupt() {
	kill -INT -- -$server
	wait $server || [ $? = 130 ] # make's own, if the shell gets the signal too
	cat out/bare.txt
}

# request METHOD PATH BODY sends a request to the page of the race, which is served
# last of all, and prints the response. A container that has nothing has no curl.
request() {
	local address
	address=$(grep -o '127\.0\.0\.1:[0-9]*' out/bare.txt | tail -n 1)
	exec 3<>"/dev/tcp/${address/:/\/}"
	printf '%s %s HTTP/1.0\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s' \
		"$1" "$2" "$address" "${#3}" "$3" >&3
	cat <&3
}

# race_under LOCK runs the first side of the page's first race under a lock, which its server has to be installed for.
race_under() {
	local race response id
	race=$(request GET /options '' | grep -o '"presets":\[{"workload":{[^}]*},"sides":\[{[^}]*}')
	race=$(sed 's/^"presets":\[//; s/"lock":"none"/"lock":"'"$1"'"/' <<<"$race")]}
	response=$(request POST /races "$race")
	id=$(grep -o '"id":"[^"]*"' <<<"$response" | head -n 1 | cut -d '"' -f 4) || true
	until response=$(request GET "/races/$id" '') && grep -q '"state":"ended"' <<<"$response"; do
		if [ -z "$id" ] || grep -q '"state":"failed"' <<<"$response" || ! kill -0 $server 2>/dev/null; then
			echo "the race under $1: $response"
			interrupt
			exit 1
		fi
		sleep 1
	done
}

case $1 in
up)
	serve up
	interrupt
	;;
race)
	serve race
	for lock in redis mysql zk etcd memcache; do race_under $lock; done
	interrupt
	;;
load | judge)
	export SHOP=examples/shops/flashsale.yml WORKLOADS=k6-one-user,many-users,seven-each
	USER_RATE=0 serve up
	eval "$(grep -o 'BASE_URL=.* make load$' out/bare.txt | sed "s/load$/$1/")"
	interrupt
	;;
compose-test) make compose-test || [ $? = 2 ] ;; # a container has no engine: 3, of which make makes 2
*) make "$1" ;;
esac
