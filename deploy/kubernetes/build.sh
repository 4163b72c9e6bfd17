#!/bin/sh
# Prints what deploy/kubernetes/example builds, from a copy of it in the given
# directory that has secrets for a test.
set -eu
cd "$(dirname "$0")"
cp -R base prometheus example "$1"
mkdir -p "$1/example/secrets"
echo 'flashsale:password@tcp(mysql.example.com:3306)/flashsale' >"$1/example/secrets/mysql_dsn"
echo 'migrate:password@tcp(mysql.example.com:3306)/flashsale' >"$1/example/secrets/mysql_dsn_migrate"
echo 'redis://:password@redis.example.com:6379/0' >"$1/example/secrets/redis_url"
echo 'only-for-the-test-0123456789abcdef' >"$1/example/secrets/jwt_secret"
exec go tool kustomize build "$1/example"
