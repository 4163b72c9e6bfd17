#!/bin/bash
# Makes a new directory with random secrets, as deploy/compose/secrets.yml reads them.
set -euo pipefail
mkdir -m 700 "$1"
cd "$1"
service=$(openssl rand -hex 16)
migrate=$(openssl rand -hex 16)
openssl rand -base64 36 >jwt_secret
echo "$service" >mysql_password
echo "flashsale:$service@tcp(mysql:3306)/flashsale" >mysql_dsn
echo "migrate:$migrate@tcp(mysql:3306)/flashsale" >mysql_dsn_migrate
cat >accounts.sql <<END
CREATE USER 'migrate'@'%' IDENTIFIED BY '$migrate';
GRANT ALL ON flashsale.* TO 'migrate'@'%';
REVOKE ALL ON flashsale.* FROM 'flashsale'@'%';
GRANT SELECT, INSERT, UPDATE, DELETE ON flashsale.* TO 'flashsale'@'%';
END
chmod 644 ./* # for the containers' users; nobody else can enter the directory
