#!/bin/sh
# The least that starts pretix on PostgreSQL. shop.sh install, shop.sh seed, and then shop.sh serve, at the root of the
# repository with VERSION and what make judge sets.
set -eu
to=$PWD/out/shops/pretix-$VERSION
export PRETIX_DATABASE_BACKEND=postgresql PRETIX_DATABASE_HOST="${DB_HOST:-}" PRETIX_DATABASE_PORT="${DB_PORT:-}"
export PRETIX_DATABASE_USER="${DB_USER:-}" PRETIX_DATABASE_NAME="$DB_NAME" PRETIX_PRETIX_DATADIR="$DIR"
export PRETIX_PRETIX_URL="http://127.0.0.1:${PORT:-0}" PRETIX_PRETIX_ECB_RATES=false DJANGO_SETTINGS_MODULE=pretix.settings

case $1 in
install)
	[ -e "$to/installed" ] || {
		python3 -m venv "$to"
		"$to/bin/pip" install --quiet "pretix==$VERSION" gunicorn==27.0.1
		touch "$to/installed"
	}
	;;
seed)
	"$to/bin/python" -m pretix migrate --verbosity 0
	"$to/bin/python" examples/shops/pretix/seed.py
	;;
serve) exec "$to/bin/python" -m gunicorn pretix.wsgi --workers 2 --threads 4 --bind "127.0.0.1:$PORT" ;;
esac
