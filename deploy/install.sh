#!/bin/sh
# Installs Go and the missing programs of the named groups: servers, locks, clock,
# network, tests, cluster, jmeter, interop, model, python, node, postgresql. The default is servers. Says
# what it will install before it does, and refuses what would be too old.
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

# has_chromium succeeds if a browser is where chromedp looks for one.
has_chromium() {
	has chromium chromium-browser google-chrome google-chrome-stable || ls -d /Applications/Chromium.app "/Applications/Google Chrome.app" >/dev/null 2>&1
}

# has_java PROGRAM succeeds if the program runs: macOS has one that only says where
# to get Java.
has_java() {
	has "$1" && "$1" -version >/dev/null 2>&1
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
	go) ;;
	servers)
		# mariadb-install-db needs my_print_defaults, which is in the client package.
		has mariadbd mysqld || need "mariadb-server-core mariadb-client-core" mariadb
		has redis-server valkey-server || need redis-server redis
		has nginx || need nginx-light nginx
		;;
	locks)
		has memcached || need memcached memcached
		has etcd || need etcd-server etcd
		has_zookeeper || need libzookeeper-java zookeeper
		has_java java || need default-jre-headless openjdk
		;;
	tests)
		has prometheus || need prometheus prometheus # Debian's package has promtool too
		# The font is for the Chinese page. Debian's Chromium brings none.
		has_chromium || need "chromium fonts-droid-fallback" chromium
		has openssl || need openssl openssl
		has gcc || has clang || need "gcc libc6-dev" gcc # for the race detector
		;;
	clock) has cc gcc clang || need "gcc libc6-dev" gcc ;; # a server's clock is stepped by a library in C
	network)
		has haproxy || need haproxy haproxy
		[ "$(uname)" != Linux ] || has ip || need iproute2 ""
		;;
	cluster)
		[ "$(uname)" != Linux ] || [ -e /usr/lib/galera/libgalera_smm.so ] || need galera-4 ""
		;;
	jmeter)
		has jmeter || need "jmeter jmeter-http" jmeter
		[ ! -d /usr/share/jmeter ] || [ -e /usr/share/jmeter/lib/ext/ApacheJMeter_http.jar ] || need jmeter-http jmeter
		has_java javac || need default-jdk-headless openjdk
		;;
	interop)
		has_java javac || need default-jdk-headless openjdk
		has mvn || need maven maven
		;;
	model)
		has spin || need spin spin
		has gcc || need "gcc libc6-dev" gcc
		;;
	python) python3 -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || need python3-venv python ;;
	node)
		has node || need nodejs node
		has npm || need npm node
		;;
	postgresql) ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 || has postgres || need postgresql postgresql ;;
	*) echo "usage: $0 [go] [servers] [locks] [clock] [network] [tests] [cluster] [jmeter] [interop] [model] [python] [node] [postgresql]" >&2 && exit 2 ;;
	esac
done

fail() {
	echo "deploy/install.sh: $*" >&2
	exit 1
}

# major_minor prints the first two numbers of a version, as 1 24.
major_minor() {
	sed -n 's/^[^0-9]*\([0-9][0-9]*\)\.\([0-9][0-9]*\).*/\1 \2/p' | head -n 1
}

# check_go VERSION fails if Go 1.21, which downloads the version that go.mod names, is
# newer.
check_go() {
	set -- $(echo "$1" | major_minor) "$1"
	[ $# -eq 3 ] || return 0
	[ "$1" -gt 1 ] || [ "$2" -ge 21 ] || fail "Go $1.$2 is too old: install Go 1.21 or later from https://go.dev/dl/, $alternative"
}

# check_redis VERSION fails if Redis 7 is newer.
check_redis() {
	set -- $(echo "$1" | major_minor) "$1"
	[ $# -eq 3 ] || return 0
	[ "$1" -ge 7 ] || fail "Redis $1.$2 is too old: install Redis 7 or later, or Valkey, see https://redis.io/docs/latest/operate/oss_and_stack/install/, $alternative"
}

as_root() {
	if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi
}

# patiently COMMAND... runs a package manager, and again while another one holds a lock
# that it needs, as on a new cloud machine. It says who holds it. apt-get's own option
# DPkg::Lock::Timeout does not wait for the lock of its lists.
patiently() {
	said="" waited=0
	until problem=$("$@" 2>&1 >&3); do
		held=$(echo "$problem" | grep -i -m 1 "could not get lock\|locked by another process\|already locked\|already in progress") || fail "$problem"
		[ "$waited" -lt "${LOCK_TIMEOUT:-1200}" ] || fail "waited for $waited seconds: $held"
		[ "$held" = "$said" ] || echo "waits for another installation to end: $held"
		said=$held waited=$((waited + 1))
		sleep 1
	done 3>&1
	[ -z "$problem" ] || echo "$problem" >&2
}

apt_get() {
	patiently as_root env LC_ALL=C DEBIAN_FRONTEND=noninteractive apt-get "$@"
}

# candidate PACKAGE prints the version that apt-get would install.
candidate() {
	apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9]*:\)\{0,1\}//p'
}

# While /usr/sbin/policy-rc.d exits with 101, Debian's packages do not start
# their services. Services that would start at the next boot are disabled.
debian_install() {
	echo "will install with apt-get:$debian"
	[ "$(id -u)" -eq 0 ] || has sudo || fail "there is no sudo: run as root: apt-get install$debian"
	apt_get update -qq
	for package in $debian; do
		case $package in
		golang-go) check_go "$(candidate golang-go)" ;;
		redis-server) check_redis "$(candidate redis-server)" ;;
		esac
	done
	policy=${POLICY_RC_D:-/usr/sbin/policy-rc.d} # a test has one of its own
	if [ ! -e "$policy" ]; then
		trap 'as_root rm -f "$policy"' EXIT
		trap 'exit 129' HUP
		trap 'exit 130' INT
		trap 'exit 143' TERM
		printf '#!/bin/sh\nexit 101\n' | as_root tee "$policy" >/dev/null
		as_root chmod 755 "$policy"
	fi
	# shellcheck disable=SC2086 # several packages
	apt_get install -y -qq --no-install-recommends $debian
	for package in $debian; do
		service=${package%-light}
		case $service in redis-server | nginx | memcached | haproxy | etcd-server | prometheus | postgresql)
			[ ! -d /run/systemd/system ] || as_root systemctl disable -q "${service%-server}" "$service" 2>/dev/null || true
			;;
		esac
	done
}

# What is there already is checked before anything is installed.
! has go || check_go "$(PATH="$PATH:/opt/homebrew/bin" go env GOVERSION)"
! has redis-server || check_redis "$(PATH="$PATH:/opt/homebrew/bin" redis-server --version)"

if [ -n "$debian" ]; then
	if has apt-get; then
		debian_install
	elif has brew; then
		echo "will install with brew:$mac"
		# shellcheck disable=SC2086 # several packages
		patiently brew install -q $mac
	else
		fail "missing, by Debian package name:$debian; install them, $alternative"
	fi
fi
