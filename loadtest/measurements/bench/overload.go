package bench

import (
	"fmt"
	"math"
	"slices"
)

// overloads are what the service makes of more claims than it can.
var overloads = section{
	name: "overload", prepare: prepareOverload,
	tables: []table{{"overload", []string{
		"", "due/s", "sent/s", "made/s", "refused/s", "without a verdict", "made / peak", "of what refusals leave",
		"p50, ms", "slowest, ms", "p99 of a refusal, ms", "to normal, ms", "MB",
	}, overloadRows()}},
	limits: []limit{
		madeOfPeak(oneInstance, single, 0.95), madeOfPeak(oneInstance, double, 0.8),
		madeOfCore(oneInstance, fourfold, 0.8),
		madeOfPeak(behindNginx, single, 0.95), madeOfPeak(behindNginx, double, 0.8),
		madeOfCore(behindNginx, fourfold, 0.8),
		{"slowest success under overload (ms)", overloaded(offerFigures.madeMax), 3000, atMost},
		{"p99 of a refusal under overload (ms)", overloaded(offerFigures.refusedP99), 250, atMost},
		{"claims without a verdict under overload", overloaded(offerFigures.noVerdict), 0, atMost},
		{"time to normal after overload (ms)", overloaded(offerFigures.timeToNormal), 1000, atMost},
		{"service memory under overload (MB)", overloaded(offerFigures.memory), 256, atMost},
	},
}

func madeOfPeak(site siteName, o offer, least float64) limit {
	name := fmt.Sprintf("claims made at %g × the peak / at the peak, %s", float64(o), site.label)
	return limit{name, site.under(o).valid(offerFigures.madeOfPeak), least, atLeast}
}

// madeOfCore is for an offer that leaves less than 0.8 of a core to whoever refuses most of it.
func madeOfCore(site siteName, o offer, least float64) limit {
	name := fmt.Sprintf("claims made at %g × the peak / what refusals leave, %s", float64(o), site.label)
	return limit{name, site.ofCore(o), least, atLeast}
}

// An offer is claims that arrive at a rate, in terms of the peak.
type offer float64

const single, double, fourfold offer = 1, 2, 4

var offers = []offer{single, double, fourfold}

// String is part of the names of figures.
func (o offer) String() string { return fmt.Sprintf("%gx", float64(o)) }

// A siteName is what takes the claims.
type siteName struct{ name, label string }

var (
	oneInstance = siteName{"overload/direct", "one instance"}
	behindNginx = siteName{"overload/nginx", "behind nginx"}

	sites = []siteName{oneInstance, behindNginx}
)

// claimsAtOnce are the claims in progress that nginx passes on, as deploy/nginx says for
// a site that is offered more than it can serve.
const claimsAtOnce = 400

func (s siteName) peak() figure { return figure{s.name + " peak", "1/s"} }

// under returns the figures of an offer.
func (s siteName) under(o offer) offerFigures {
	return offerFigures{figure{s.name + " " + o.String(), ""}}
}

// offerFigures are what was made of an offer.
type offerFigures struct{ figure }

func (f offerFigures) due() figure          { return f.with("due", "1/s") }
func (f offerFigures) sent() figure         { return f.with("sent", "1/s") }
func (f offerFigures) made() figure         { return f.with("made", "1/s") }
func (f offerFigures) madeOfPeak() figure   { return f.with("made of peak", "") }
func (f offerFigures) refused() figure      { return f.with("refused", "1/s") }
func (f offerFigures) noVerdict() figure    { return f.with("without a verdict", "") }
func (f offerFigures) madeP50() figure      { return f.with("made p50", "ms") }
func (f offerFigures) madeP99() figure      { return f.with("made p99", "ms") }
func (f offerFigures) madeMax() figure      { return f.with("made max", "ms") }
func (f offerFigures) refusedP99() figure   { return f.with("refused p99", "ms") }
func (f offerFigures) timeToNormal() figure { return f.with("time to normal", "ms") }
func (f offerFigures) memory() figure       { return f.with("memory", "MB") }

func overloadRows() (rows []row) {
	for _, site := range sites {
		for _, o := range offers {
			f := site.under(o)
			rows = append(rows, row{fmt.Sprintf("%s, %g × the peak", site.label, float64(o)), []cell{
				number(f.due()), number(f.sent()), number(f.made()), number(f.refused()), number(f.noVerdict()),
				f.ofPeak, site.ofCoreCell(o), f.judged(offerFigures.madeP50), f.judged(offerFigures.madeMax),
				f.judged(offerFigures.refusedP99), f.judged(offerFigures.timeToNormal), number(f.memory()),
			}})
		}
	}
	return rows
}

const (
	// leastSent is which share of an offer must have been sent. The core of the clients
	// may not suffice for more.
	leastSent = 0.9
	// mostOfPeak is how much of the peak can be made. More means that the peak was
	// measured in a bad moment.
	mostOfPeak = 1.25
)

// valid returns a figure of each repetition. It is void if the offer was not sent, or
// if more was made than can be.
func (f offerFigures) valid(of func(offerFigures) figure) func(Figures) samples {
	return func(all Figures) samples {
		sent, made := all.samples(f.sent()).over(all.samples(f.due())), all.samples(f.madeOfPeak())
		values := slices.Clone(all.samples(of(f)))
		for i := range values {
			if sent[i] < leastSent || made[i] > mostOfPeak {
				values[i] = math.NaN()
			}
		}
		return values
	}
}

// judged is the median of a figure, unless it is void.
func (f offerFigures) judged(of func(offerFigures) figure) cell {
	return func(all Figures) string {
		if f.valid(of)(all).void() {
			return void
		}
		return number(of(f))(all)
	}
}

// judgedFigures say something only if the load was sent.
var judgedFigures = []func(offerFigures) figure{
	offerFigures.made, offerFigures.madeOfPeak, offerFigures.madeP50, offerFigures.madeP99, offerFigures.madeMax,
	offerFigures.refusedP99, offerFigures.timeToNormal,
}

// unsent reports whether a figure is of an offer that is void.
func (all Figures) unsent(name string) bool {
	for _, site := range sites {
		for _, o := range offers {
			for _, of := range judgedFigures {
				if f := site.under(o); of(f).name == name && f.valid(of)(all).void() {
					return true
				}
			}
		}
	}
	return false
}

// ofPeak is what was made of the peak.
func (f offerFigures) ofPeak(all Figures) string {
	if values := f.valid(offerFigures.madeOfPeak)(all); values.void() {
		return void
	}
	return spread(f.madeOfPeak())(all)
}

// overloaded is the highest value of the offers that are larger than the capacity and
// were sent.
func overloaded(of func(offerFigures) figure) func(Figures) samples {
	return func(all Figures) samples {
		var values []samples
		for _, site := range sites {
			values = append(values, site.under(double).valid(of)(all), site.under(fourfold).valid(of)(all))
		}
		return highest(values...)
	}
}
