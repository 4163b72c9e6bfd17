package crowd

import (
	"fmt"
	"slices"

	"example.com/flashsale/loadtest/clients"
	"example.com/flashsale/loadtest/report"
	"example.com/flashsale/loadtest/rig"
	"example.com/flashsale/loadtest/stats"
	"example.com/flashsale/loadtest/verdict"
)

// A Row is the bursts of one size.
type Row struct {
	Clients int `json:"clients"`
	Summary
	Bursts []Burst `json:"bursts"`
	Pass   bool    `json:"pass"`
}

// A Summary has counts of all bursts, medians, and the highest of what is worst.
type Summary struct {
	Accepted   int     `json:"accepted"`
	Service503 int     `json:"service_503"`
	Nginx503   int     `json:"nginx_503"`
	P50        float64 `json:"p50_s"`
	P99        float64 `json:"p99_s"`
	WorstP99   float64 `json:"worst_p99_s"`
	Memory     float64 `json:"memory_mb"`
}

func (r Row) summary() Summary {
	seconds := func(figure func(Burst) float64, q float64) float64 { return stats.Quantile(r.all(figure), q) / 1000 }
	return Summary{
		Accepted: r.count(rig.Accepted), Service503: r.count(service503...), Nginx503: r.count(nginx503...),
		P50: seconds(p50, 0.5), P99: seconds(p99, 0.5), WorstP99: seconds(p99, 1),
		Memory: stats.Quantile(r.all(memory), 1),
	}
}

// maxP99 bounds the median p99 of the bursts of up to boundedClients, all of which nginx
// passes on (deploy/nginx/site/claims.conf).
const (
	maxP99         = 3000.0 // ms
	boundedClients = 12_000
)

var (
	service503 = []string{clients.Service503, clients.Unavailable503}
	nginx503   = []string{clients.NginxOverloaded, clients.Nginx503}
)

// passes reports whether every client got a verdict or the service's own 503, in time,
// and all promises were kept. Of more clients than that, nginx may refuse to pass on some
// claims.
func (r Row) passes() bool {
	verdicts := slices.Concat([]string{rig.Accepted}, service503, rig.Refusals)
	if r.Clients > boundedClients {
		verdicts = append(verdicts, clients.NginxOverloaded)
	}
	broken := slices.ContainsFunc(r.Bursts, func(b Burst) bool { return b.Broken != "" })
	inTime := r.Clients > boundedClients || stats.Quantile(r.all(p99), 0.5) <= maxP99
	return r.count(verdicts...) == r.Clients*len(r.Bursts) && !broken && inTime
}

// met reports whether the clients of most bursts were a crowd: half of their claims
// were in flight at one moment.
func (r Row) met() bool { return stats.Quantile(r.all(inFlight), 0.5) >= float64(r.Clients)/2 }

func (r Row) verdict() verdict.Verdict { return verdict.Of(false, !r.passes(), r.met()) }

// count returns how many claims of all bursts got one of the verdicts.
func (r Row) count(verdicts ...string) (n int) {
	for _, b := range r.Bursts {
		for _, v := range verdicts {
			n += b.Verdicts[v]
		}
	}
	return n
}

// all returns one figure of each burst.
func (r Row) all(figure func(Burst) float64) (values []float64) {
	for _, b := range r.Bursts {
		values = append(values, figure(b))
	}
	return values
}

func p50(b Burst) float64      { return b.P50 }
func p99(b Burst) float64      { return b.P99 }
func late503(b Burst) float64  { return b.Late503 }
func last(b Burst) float64     { return b.Max }
func inFlight(b Burst) float64 { return float64(b.InFlight) }
func memory(b Burst) float64   { return b.Memory }

// counted is a column of the replies with the given verdicts.
func counted(name string, verdicts ...string) report.Column[Row] {
	return report.Detail(name, func(r Row) int { return r.count(verdicts...) })
}

// quantile returns the quantile of a figure of each burst.
func quantile(figure func(Burst) float64, q float64) func(Row) string {
	return func(r Row) string { return fmt.Sprintf("%.0f", stats.Quantile(r.all(figure), q)) }
}

// columns are counts of all bursts, the medians of those in flight, of p50 and of both
// p99, and the highest of the others.
var columns = report.Columns[Row]{
	report.Main("clients", func(r Row) int { return r.Clients }),
	report.Main("accepted", func(r Row) int { return r.count(rig.Accepted) }),
	counted("refused", rig.Refusals...), counted("503 service", service503...), counted("503 nginx", nginx503...),
	report.Main("no reply", func(r Row) int { return r.count(clients.NoReply) }),
	counted("unexpected", rig.Unexpected),
	report.Detail("in flight", quantile(inFlight, 0.5)), report.Main("p50 ms", quantile(p50, 0.5)),
	report.Main("p99 ms", quantile(p99, 0.5)), report.Detail("worst p99", quantile(p99, 1)),
	report.Detail("p99 of 503", quantile(late503, 0.5)), report.Main("max ms", quantile(last, 1)),
	report.Main("MB", quantile(memory, 1)), report.Main("verdict", Row.verdict),
}
