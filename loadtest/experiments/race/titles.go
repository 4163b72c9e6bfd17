package race

import (
	"fmt"
	"slices"
	"strings"
)

// A language names choices in the titles of presets.
type language struct {
	locks, commits, missing map[string]string
	perUser, perCoupon      string // the name of a lock with this scope
	allGuards, workload     string
	separator               string
}

var english = language{
	locks: map[string]string{
		"none": "no lock", "local": "local mutex", "redis": "Redis lock", "redisson": "Redisson lock",
		"redlock": "Redlock",
		"mysql":   "MySQL row lock", "getlock": "MySQL GET_LOCK", "zk": "ZooKeeper lock", "etcd": "etcd lock",
		"memcache": "memcached lock",
	},
	commits: map[string]string{
		"each": "a transaction each", "optimistic": "version column", "pessimistic": "SELECT … FOR UPDATE",
		"grouped": "shared transactions",
	},
	missing: map[string]string{"stock": "no stock guard", "unique": "no unique key"},
	perUser: "%s per user", perCoupon: "%s per coupon", allGuards: "all guards",
	workload: "%d × %d claims", separator: ", ",
}

var chinese = language{
	locks: map[string]string{
		"none": "无锁", "local": "本地互斥锁", "redis": "Redis 锁", "redisson": "Redisson 锁", "redlock": "Redlock",
		"mysql": "MySQL 行锁", "getlock": "MySQL GET_LOCK", "zk": "ZooKeeper 锁", "etcd": "etcd 锁",
		"memcache": "memcached 锁",
	},
	commits: map[string]string{
		"each": "每单一个事务", "optimistic": "版本号", "pessimistic": "SELECT … FOR UPDATE", "grouped": "合并事务",
	},
	missing: map[string]string{"stock": "无库存条件", "unique": "无唯一键"},
	perUser: "按用户的 %s", perCoupon: "按优惠券的 %s", allGuards: "全部保护",
	workload: "%d × %d 个请求", separator: "，",
}

// title names what differs between the sides, and then what they share.
func (p Preset) title(l language) string {
	left, right := p.Sides[0], p.Sides[1]
	shared := []string{fmt.Sprintf(l.workload, p.Workload.Users, p.Workload.ClaimsPerUser)}
	difference := func(name func(Settings) string) string { return name(left) + " | " + name(right) }
	var title string
	switch {
	case l.lock(left) != l.lock(right):
		title = difference(l.lock)
	case left.Commit != right.Commit:
		title = difference(func(s Settings) string { return l.commits[s.Commit] })
	default:
		return difference(l.guards) + " · " + strings.Join(append(shared, l.lock(left)), l.separator)
	}
	return title + " · " + strings.Join(append(shared, l.guards(left)), l.separator)
}

func (l language) lock(s Settings) string {
	name := l.locks[s.Lock]
	switch {
	case s.Lock == "none":
		return name
	case s.LockScope == "coupon":
		return fmt.Sprintf(l.perCoupon, name)
	}
	return fmt.Sprintf(l.perUser, name)
}

// guards names the guards that are not in force.
func (l language) guards(s Settings) string {
	var missing []string
	for _, g := range guards {
		if !slices.Contains(s.Guards, g) {
			missing = append(missing, l.missing[g])
		}
	}
	if len(missing) == 0 {
		return l.allGuards
	}
	return strings.Join(missing, l.separator)
}
