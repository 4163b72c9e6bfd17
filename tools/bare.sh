#!/bin/bash
# Runs the make target $1 once, with the shortest settings that it has, as
# .github/workflows/bare.yml does in a container that has nothing. A target that
# serves until Ctrl-C is interrupted when it says so.
set -euo pipefail
cd "$(dirname "$0")/.."
export BENCH=quick CLUSTER=quick CROWD=666 SOAK=60s SEEDS=3 EXAMPLES=5 FUZZTIME=1s BEFORE=HEAD~1 RANGE=HEAD~1..HEAD
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

case $1 in
up | race)
	serve "$1"
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
