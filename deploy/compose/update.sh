#!/bin/bash
# Updates a running docker-compose.yml to the sources at hand without a failed
# request: builds the image, migrates the database, and recreates one instance
# after the other. If one does not become healthy, it is stopped, and the next ones stay as they are.
# Arguments are options for each docker compose, as -f and --env-file.
set -euo pipefail
cd "$(dirname "$0")/../.."

services=$(docker compose "$@" ps --services | grep '^api-' | sort) || {
	echo "$0: no instance is running: docker compose up starts them" >&2
	exit 1
}
certificate=${TLS_DIRECTORY:-}/tls.crt # of tls.yml; nginx would serve an expired one without a word
if [ -n "${TLS_DIRECTORY:-}" ] && [ -r "$certificate" ] && ! openssl x509 -checkend 0 -noout -in "$certificate" >&2; then
	echo "$0: renew $certificate: docs/capacity.md says how" >&2
	exit 1
fi
docker compose "$@" build api-a
docker compose "$@" run --rm --no-deps migrate
for service in $services; do
	replicas=$(docker compose "$@" ps --quiet "$service" | wc -l) # else up would leave one of api-c
	docker compose "$@" up --detach --wait --no-deps --scale "$service=$((replicas))" "$service" || {
		docker compose "$@" logs --tail 5 "$service" >&2
		docker compose "$@" stop "$service"
		echo "$0: $service did not become ready, for the reason above, and is stopped; the others are as before" >&2
		exit 1
	}
done
