#!/bin/sh
# Installs the missing programs of the named groups: servers, tests, cluster,
# jmeter, interop, model, python. The default is servers.
# Leaves no system service running: internal/lab starts its own servers as child
# processes.
set -eu

alternative="or run the service in containers: docker compose up"

# has NAME... succeeds if one of the programs is on PATH or in a directory that
# PATH often lacks.
has() {
	for name; do
		for dir in $(echo "$PATH" | tr ':' ' ') /usr/sbin /usr/local/sbin /opt/homebrew/bin /opt/homebrew/sbin; do
			[ -x "$dir/$name" ] && return 0
		done
	done
	return 1
}

# has_zookeeper succeeds if the jar is where Debian or Homebrew installs it.
has_zookeeper() {
	ls /usr/share/java/zookeeper.jar /opt/homebrew/opt/zookeeper/libexec/lib/zookeeper-[0-9]*.jar 2>/dev/null | grep -q .
}

# has_libfaketime succeeds if the library is where Debian installs it.
has_libfaketime() {
	ls /usr/lib/*/faketime/libfaketimeMT.so.1 >/dev/null 2>&1
}

# has_chromium succeeds if a browser is where chromedp looks for one.
has_chromium() {
	has chromium chromium-browser google-chrome google-chrome-stable || ls -d /Applications/Chromium.app "/Applications/Google Chrome.app" >/dev/null 2>&1
}

debian="" mac="" # packages to install

# need DEBIAN MAC adds the package of each package manager.
need() {
	debian="$debian $1"
	mac="$mac $2"
}

[ $# -gt 0 ] || set -- servers
has go || need golang-go go
for part; do
	case $part in
	servers)
		# mariadb-install-db needs my_print_defaults, which is in the client package.
		has mariadbd mysqld || need "mariadb-server-core mariadb-client-core" mariadb
		has redis-server valkey-server || need redis-server redis
		has nginx || need nginx-light nginx
		;;
	tests)
		has prometheus || need prometheus prometheus # Debian's package has promtool too
		# The font is for the Chinese page. Debian's Chromium brings none.
		has_chromium || need "chromium fonts-droid-fallback" chromium
		has memcached || need memcached memcached
		has haproxy || need haproxy haproxy
		[ "$(uname)" != Linux ] || has ip || need iproute2 ""
		[ "$(uname)" != Linux ] || has_libfaketime || need libfaketime ""
		has etcd || need etcd-server etcd
		has_zookeeper || need libzookeeper-java zookeeper
		has java || need default-jre-headless openjdk
		has openssl || need openssl openssl
		;;
	cluster)
		has haproxy || need haproxy haproxy
		[ "$(uname)" != Linux ] || has ip || need iproute2 ""
		[ "$(uname)" != Linux ] || [ -e /usr/lib/galera/libgalera_smm.so ] || need galera-4 ""
		;;
	jmeter)
		has jmeter || need "jmeter jmeter-http" jmeter
		[ ! -d /usr/share/jmeter ] || [ -e /usr/share/jmeter/lib/ext/ApacheJMeter_http.jar ] || need jmeter-http jmeter
		has javac || need default-jdk-headless openjdk
		;;
	interop)
		has javac || need default-jdk-headless openjdk
		has mvn || need maven maven
		;;
	model)
		has spin || need spin spin
		has gcc || need gcc gcc
		;;
	python) python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || need python3-venv python ;;
	*) echo "usage: $0 [servers] [tests] [cluster] [jmeter] [interop] [model] [python]" >&2 && exit 2 ;;
	esac
done

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# While /usr/sbin/policy-rc.d exits with 101, Debian's packages do not start
# their services. Services that would start at the next boot are disabled.
debian_install() {
	echo "installing with apt-get:$debian"
	policy=/usr/sbin/policy-rc.d
	if [ ! -e $policy ]; then
		printf '#!/bin/sh\nexit 101\n' | as_root tee $policy >/dev/null
		as_root chmod 755 $policy
		trap 'as_root rm -f $policy' EXIT
	fi
	as_root apt-get update -qq
	# shellcheck disable=SC2086 # several packages
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $debian
	for package in $debian; do
		service=${package%-light}
		case $service in redis-server | nginx | memcached | haproxy | etcd-server | prometheus)
			[ ! -d /run/systemd/system ] || as_root systemctl disable -q "${service%-server}" "$service" 2>/dev/null || true
			;;
		esac
	done
}

if [ -n "$debian" ]; then
	if has apt-get; then
		debian_install
	elif has brew; then
		echo "installing with brew:$mac"
		# shellcheck disable=SC2086 # several packages
		brew install -q $mac
	else
		echo "missing, by Debian package name:$debian; install them, $alternative" >&2
		exit 1
	fi
fi

# Go 1.21 and later download the toolchain that go.mod names.
minor=$(go env GOVERSION | sed -n 's/^go1\.\([0-9]*\).*/\1/p')
if [ "${minor:-0}" -lt 21 ]; then
	echo "the installed Go is too old to download Go 1.26: install Go 1.21 or later, $alternative" >&2
	exit 1
fi
