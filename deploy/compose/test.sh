#!/bin/bash
# Runs docker-compose.yml as it is, in a project of its own with a free port, and
# removes everything at its end. Exits with 3 where there is no Docker engine.
set -euo pipefail
cd "$(dirname "$0")/../.."

if ! docker info >/dev/null 2>&1; then
	echo "make compose-test: docker info finds no Docker engine. Nothing was tested." >&2
	exit 3
fi

SECRETS=$(mktemp -d)
export SECRETS COMPOSE_PROJECT_NAME=flashsale-test PORT=0 USER_RATE=0
compose() { docker compose "$@"; }
down() { docker compose --profile '*' down --volumes --remove-orphans --timeout 20; }
step() { printf '\n=== %s\n' "$*"; }

# expect_instance NAME waits until nginx has sent a request to the instance whose
# X-Instance begins with NAME.
expect_instance() {
	for _ in $(seq 100); do
		curl -s -o /dev/null -D - "http://$(compose port nginx 8080)/livez" | grep -qi "^x-instance: $1" && return
		sleep 0.2
	done
	echo "nginx sends nothing to instance $1" >&2
	return 1
}

# sell NAME runs a burst of claims and audits the database.
sell() { compose "${@:2}" --profile load run --rm --no-deps k6 run "/scripts/$1.js"; }

trap 'status=$?; [ $status = 0 ] || { compose ps --all; compose --profile "*" logs --tail 20; }; down >/dev/null 2>&1 || true; rm -r "$SECRETS"; exit $status' EXIT

step "as shipped"
compose up --build --detach --wait --wait-timeout 300
sell seven-each
sell one-user

step "a recreated instance gets requests, without a reload of nginx"
compose up --detach --wait --no-deps --force-recreate api-a
expect_instance a

step "a third instance gets requests"
compose --profile third up --detach --wait --no-deps --no-recreate api-c
expect_instance "$(compose ps --quiet api-c | cut -c 1-12)"
sell seven-each

step "Prometheus scrapes every instance, and evaluates the rules"
echo 'services: { prometheus: { ports: !reset [] } }' |
	compose --file docker-compose.yml --file - --profile observe up --detach --wait --no-deps prometheus
prometheus() { compose --profile observe exec -T prometheus wget -q -O - "http://127.0.0.1:9090/api/v1/$1"; }
for _ in $(seq 60); do
	up=$(prometheus 'query?query=sum(up)')
	rules=$(prometheus rules)
	if [[ $up == *'"3"'* && $rules == *'"health":"ok"'* && $rules != *'"health":"unknown"'* ]]; then break; fi
	sleep 1
done
if [[ $up != *'"3"'* || $rules != *'"health":"ok"'* || $rules =~ '"health":"'(unknown|err) ]]; then
	echo "Prometheus: $up $rules" >&2
	exit 1
fi

step "an update, one instance after the other, fails no request"
claim_until_updated() { # prints each reply without its lines' ends, with its status
	while [ ! -e "$SECRETS/updated" ]; do
		reply=$(curl -s -m 10 -w ' %{http_code}' -X POST "http://$1/coupons/1/orders" || true)
		echo "$(date +%T)" $reply
	done
}
address=$(compose port nginx 8080)
for client in 1 2 3 4; do claim_until_updated "$address" >"$SECRETS/statuses.$client" & done
before=$(compose ps --quiet api-a api-b api-c)
OTEL_SERVICE_NAME=updated deploy/compose/update.sh # another setting recreates containers as another image does
touch "$SECRETS/updated"
wait
if [ "$(compose ps --quiet api-a api-b api-c | grep -cF "$before")" != 0 ] ||
	grep -vE ' (401|429)$' "$SECRETS"/statuses.*; then
	echo "an instance was not recreated, or a request failed" >&2
	exit 1
fi
echo "none of $(cat "$SECRETS"/statuses.* | wc -l) requests failed"
rm "$SECRETS"/*
down

for cluster in redis-cluster galera group-replication; do
	step "$cluster"
	compose --env-file "deploy/compose/$cluster.env" up --detach --wait --wait-timeout 300
	sell seven-each --env-file "deploy/compose/$cluster.env"
	step "$cluster, after a stop of all"
	compose --env-file "deploy/compose/$cluster.env" stop
	compose --env-file "deploy/compose/$cluster.env" up --detach --wait --wait-timeout 300
	sell seven-each --env-file "deploy/compose/$cluster.env"
	down
done

step "secrets by file"
rmdir "$SECRETS"
deploy/compose/secrets.sh "$SECRETS"
files=(--file docker-compose.yml --file deploy/compose/secrets.yml)
compose "${files[@]}" up --detach --wait --wait-timeout 300
sell seven-each "${files[@]}"
down

step "TLS, with a key for its owner only; a certificate is renewed by a rename"
export TLS_DIRECTORY=$SECRETS/tls TLS_USER=65534
[ "$(id -u)" = 0 ] || TLS_USER=$(id -u)
mkdir "$TLS_DIRECTORY"
make_certificate() { # NAME
	openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj "/CN=$1" \
		-keyout "$TLS_DIRECTORY/new.key" -out "$TLS_DIRECTORY/new.crt" 2>/dev/null
	[ "$(id -u)" != 0 ] || chown -R $TLS_USER "$TLS_DIRECTORY"
	mv "$TLS_DIRECTORY/new.key" "$TLS_DIRECTORY/tls.key"
	mv "$TLS_DIRECTORY/new.crt" "$TLS_DIRECTORY/tls.crt"
}
expect_certificate() { # NAME
	for _ in $(seq 50); do
		curl -skv -o /dev/null "https://$(compose "${files[@]}" port nginx 8443)/readyz" 2>&1 | grep -q "subject: CN=$1" && return
		sleep 0.2
	done
	echo "nginx does not serve the certificate of $1" >&2
	return 1
}
make_certificate before
files=(--file docker-compose.yml --file deploy/compose/tls.yml)
compose "${files[@]}" up --detach --wait --wait-timeout 300
expect_certificate before
make_certificate after
compose "${files[@]}" kill --signal HUP nginx
expect_certificate after
echo
echo "make compose-test: docker-compose.yml ran in every form, and every promise held"
