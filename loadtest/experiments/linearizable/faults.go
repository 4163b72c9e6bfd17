package linearizable

import (
	"math/rand/v2"
	"time"

	"example.com/flashsale/internal/faultproxy"
	"example.com/flashsale/loadtest/fault"
)

const (
	faultTime = 700 * time.Millisecond
	quietTime = 400 * time.Millisecond
	// lostCommits is how many messages in a row the fault of a COMMIT strikes.
	lostCommits = 3
)

// commitFault strikes the next requests with a COMMIT, of which the database gets
// the request or not, and the instance no reply. It waits for the first, because
// there is none while everything is sold out.
func commitFault(name string, p *faultproxy.Proxy, kind faultproxy.Fault) fault.Fault {
	return fault.AtRequest("COMMIT "+name, faultTime, p, func() { p.Inject(kind, "COMMIT", lostCommits) },
		func() bool { return p.Hits() > 0 })
}

// faults returns the faults of a run in the order of its seed. Every run loses
// COMMITs and their replies, and kills an instance, the database and Redis.
func (s *sale) faults(random *rand.Rand) []fault.Fault {
	database, redis := s.stack.MySQL.Server, s.stack.Redis.Server
	always := []fault.Fault{
		commitFault("lost", s.A.MySQL, faultproxy.LoseRequest),
		commitFault("executed, reply lost", s.B.MySQL, faultproxy.LoseReply),
		fault.Kill("instance a killed", faultTime, s.A.Server), fault.Kill("MySQL killed", faultTime, database),
		fault.Kill("Redis killed", faultTime, redis),
	}
	sometimes := []fault.Fault{
		commitFault("hanging", s.B.MySQL, faultproxy.HangRequest),
		commitFault("executed, reply hanging", s.A.MySQL, faultproxy.HangReply),
		fault.Partition("instance a and MySQL partitioned", faultTime, s.A.MySQL),
		fault.Partition("instance b and Redis partitioned", faultTime, s.B.Redis),
		fault.Suspend("instance b suspended", faultTime, s.B.Server),
		fault.Suspend("MySQL suspended", faultTime, database), fault.Suspend("Redis suspended", faultTime, redis),
	}
	if z := s.zookeeper; z != nil {
		always = append(always, fault.Kill("ZooKeeper killed", faultTime, z.Server),
			fault.Partition("instance a and ZooKeeper partitioned", faultTime, s.A.ZooKeeper))
		sometimes = append(sometimes, fault.Suspend("ZooKeeper suspended", faultTime, z.Server))
	}
	shuffle(random, sometimes)
	all := append(always, sometimes[:3]...)
	shuffle(random, all)
	return all
}

func shuffle(random *rand.Rand, list []fault.Fault) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}
