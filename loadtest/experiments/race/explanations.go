package race

func always(f function) func(facts) function { return func(facts) function { return f } }

func lockFunction(f facts) function { return lockFunctions[f.settings.Lock] }

func decrementFunction(f facts) function {
	if !f.stockGuarded() {
		return decrementUnguarded
	}
	return decrementFunctions[f.settings.Commit]
}

// uniqueKeyFunction is where the refusal by the unique key is handled.
func uniqueKeyFunction(f facts) function {
	if f.settings.Commit == "grouped" {
		return insertMany
	}
	return commitOne
}

// What claims did that looked for the orders of their user too early, which orders are
// beyond those that a user may have, and what ends every explanation.
const (
	inEnglish = `{{define "looked"}}{{if gt .Workload.PerUser 1}}counted its user's orders before another had committed counted too few{{else}}looked for an order before another had committed found none{{end}}{{end}}
{{- define "beyond"}}{{if gt .Workload.PerUser 1}}beyond {{.Workload.PerUser}} each{{else}}duplicates{{end}}{{end}}
{{- template "said" .}}{{with .Unanswered}} {{.}} claims got no verdict.{{end}}`
	inChinese = `{{define "looked"}}{{if gt .Workload.PerUser 1}}在别人提交之前清点订单的，点少了{{else}}在别人提交之前查询的，没有查到订单{{end}}{{end}}
{{- define "beyond"}}{{if gt .Workload.PerUser 1}}超出每人 {{.Workload.PerUser}} 张的{{else}}重复{{end}}{{end}}
{{- template "said" .}}{{with .Unanswered}}有 {{.}} 个请求结果未知。{{end}}`
)

// explanations are in order of importance. A broken promise comes first.
var explanations = []explanation{
	{
		holds:  func(f facts) bool { return f.struck && f.intact() },
		en:     "{{with .Overlaps}}Under the fault the lock no longer excluded: {{.}} times a claim entered beside another of the same key. The guards and the holder's own deadline kept the orders right.{{else}}The fault struck while a claim was in its section, and no other entered beside it.{{end}}",
		zh:     "{{with .Overlaps}}故障使锁不再互斥：有 {{.}} 次，一个请求进入时同一把锁的另一个请求还在里面。订单仍然正确，靠的是数据库保护和持有者自己的期限。{{else}}故障发生时有请求在临界区内，没有别的请求与它同时进入。{{end}}",
		source: lockFunction,
	},
	{
		holds:  func(f facts) bool { return f.settings.Fault != noFault && !f.struck && f.intact() },
		en:     "The fault met no claim in its section: the holder had left before it struck, or nothing was lost. This race shows nothing; run it again.",
		zh:     "故障没有碰到临界区内的请求：持有者已先离开，或者什么也没有丢。这一场说明不了什么，请重来。",
		source: lockFunction,
	},
	{ // a mutex of each instance
		holds: func(f facts) bool {
			return f.Duplicates > 0 && f.settings.Lock == "local" && f.Overlaps > 0 && f.overlapsInside == 0
		},
		en:     `The mutex of one instance does not exclude the other: {{.Overlaps}} times a claim entered its critical section while another instance had one of the same key inside, those that {{template "looked" .}}, so {{.Duplicates}} orders are {{template "beyond" .}}.`,
		zh:     `进程内的锁拦不住另一个实例：有 {{.Overlaps}} 次，一个请求进入临界区时，另一个实例正有同一把锁的请求在里面，{{template "looked" .}}，于是多出 {{.Duplicates}} 个{{template "beyond" .}}订单。`,
		source: lockFunction,
	},
	{
		holds:  func(f facts) bool { return f.Duplicates > 0 && f.Overlaps > 0 && f.settings.Lock == "none" },
		en:     `Nothing kept the claims of one user apart: {{.Overlaps}} times one entered while another was inside; those that {{template "looked" .}} and inserted their own, so {{.Duplicates}} orders are {{template "beyond" .}}.{{with .Oversold}} {{.}} more were sold than there were.{{end}}`,
		zh:     `没有任何东西把同一用户的请求隔开：有 {{.Overlaps}} 次，一个请求进入时另一个还在里面；{{template "looked" .}}，于是各自插入，多出 {{.Duplicates}} 个{{template "beyond" .}}订单。{{with .Oversold}}并且超卖 {{.}} 张。{{end}}`,
		source: facts.look,
	},
	{ // a lock that did not exclude
		holds: func(f facts) bool { return f.Duplicates > 0 },
		en:    `{{with .Overlaps}}The lock was granted to two holders at once: {{.}} sections of one key overlapped, and {{else}}No sections of one key overlapped, and yet {{end}}{{.Duplicates}} orders are {{template "beyond" .}}.`,
		zh:    `{{with .Overlaps}}锁同时给了两个持有者：同一把锁的临界区重叠 {{.}} 次，{{else}}同一把锁的临界区没有重叠，却仍然{{end}}多出 {{.Duplicates}} 个{{template "beyond" .}}订单。`,
		source: func(f facts) function {
			if f.Overlaps > 0 {
				return lockFunction(f)
			}
			return f.look()
		},
	},
	{
		holds:  func(f facts) bool { return f.Oversold > 0 },
		en:     "{{if .LockedByUser}}A lock per user does not guard the stock: claims of different users hold different locks, so {{else}}Check, then act: {{end}}{{.OverlapsAcross}} times a claim entered while another was inside; those that read the stock before another had taken its unit sold {{.Oversold}} too many.",
		zh:     "{{if .LockedByUser}}按用户加锁保护不了库存，不同用户持有不同的锁：{{else}}先检查、后行动：{{end}}有 {{.OverlapsAcross}} 次一个请求进入时另一个还在里面；在别人扣减之前读到库存的，一共超卖了 {{.Oversold}} 张。",
		source: always(decrementUnguarded),
	},
	{
		holds: func(f facts) bool { return f.Missing+f.Undersold+f.Unsold > 0 },
		en:    "{{.Missing}} acknowledged orders are missing, {{.Undersold}} units left the stock without an order, and {{.Unsold}} units that were wanted are unsold.",
		zh:    "已确认的订单丢失 {{.Missing}} 个，{{.Undersold}} 张库存被扣减却没有订单，还有 {{.Unsold}} 张有人要却没有卖出。",
		source: func(f facts) function {
			if f.settings.Commit == "grouped" {
				return commitMany
			}
			return commitOne
		},
	},
	{
		holds: func(f facts) bool {
			return !f.unique() && f.excluded() && f.Workload.ClaimsPerUser > f.Workload.PerUser
		},
		en:     "The lock let one claim in at a time: {{.Codes.claim_in_progress}} were refused because another claim of their user was inside, {{.Found}} found what earlier ones had got, no sections of one key overlapped, and nobody has more than {{.Workload.PerUser}} although there is no unique key.",
		zh:     "锁每次只放一个请求进入：{{.Codes.claim_in_progress}} 个因同一用户的另一请求正在处理而被拒绝，{{.Found}} 个查到了先前的订单；同一把锁的临界区从不重叠，虽然没有唯一索引，也没有人超过 {{.Workload.PerUser}} 张。",
		source: lockFunction,
	},
	{
		holds: func(f facts) bool {
			return !f.stockGuarded() && f.settings.excludes() && f.settings.LockScope != "user" && f.Overlaps == 0
		},
		en:     "The lock let one claim of {{if .OverlapsAcross}}each segment{{else}}the coupon{{end}} in at a time, so each read the stock that the one before had left: {{.Orders}} sold and {{.Codes.sold_out}} refused as sold out, without a condition in the UPDATE, {{with .OverlapsAcross}}and {{.}} times one entered while claims of other segments were inside{{else}}and one after the other{{end}}.",
		zh:     "锁每次只放{{if .OverlapsAcross}}每个分段{{else}}该优惠券{{end}}的一个请求进入，每个请求读到的都是前一个留下的库存：卖出 {{.Orders}} 张，{{.Codes.sold_out}} 个被告知售罄；UPDATE 没有条件，{{with .OverlapsAcross}}有 {{.}} 次进入时其他分段的请求还在里面{{else}}代价是逐个排队{{end}}。",
		source: lockFunction,
	},
	{
		holds: func(f facts) bool {
			return !f.unique() && f.Workload.ClaimsPerUser > f.Workload.PerUser || !f.stockGuarded() &&
				f.Workload.wanted() > f.Workload.Stock
		},
		en:     "Nothing broke, but nothing prevented it either: the overlaps of sections of one key ({{.Overlaps}}) did no harm this time. Start it again, or send more claims.",
		zh:     "什么都没有出错，但也没有任何东西防止出错：同一把锁的临界区重叠了 {{.Overlaps}} 次，这次没有造成损害。请再来一次，或发出更多请求。",
		source: always(claimFunction),
	},
	soldOnce(func(f facts) bool { return f.commitDiffers }), // what the sides differ in
	{
		holds:  func(f facts) bool { return f.Overlaps > 0 && f.Workload.ClaimsPerUser > 1 },
		en:     "Claims of one user were inside at once {{.Overlaps}} times, and the unique key refused every order that there was already: {{.Codes.already_claimed}} claims were told of it, {{.Orders}} sold, none twice.",
		zh:     "同一用户的请求有 {{.Overlaps}} 次同时在临界区内，已有的订单再次插入时一律被唯一索引拒绝：{{.Codes.already_claimed}} 个请求得知已有订单，共卖出 {{.Orders}} 张，无一重复。",
		source: uniqueKeyFunction,
	},
	soldOnce(func(facts) bool { return true }),
	{
		holds:  func(f facts) bool { return f.excluded() && f.Workload.ClaimsPerUser > 1 },
		en:     "The lock kept {{.Codes.claim_in_progress}} claims of users with another claim inside away from the database, and {{.Codes.already_claimed}} found the order of an earlier one; the unique key had nothing to refuse.",
		zh:     "锁挡下了 {{.Codes.claim_in_progress}} 个同一用户的并发请求，{{.Codes.already_claimed}} 个查到了先前的订单；唯一索引没有什么可拒绝的。",
		source: lockFunction,
	},
	{
		holds:  func(facts) bool { return true },
		en:     "Every claim had its own user and there was enough for all: {{.Orders}} sold. Such a race needs no protection.",
		zh:     "每个请求来自不同的用户，库存也足够：卖出 {{.Orders}} 张。这样的竞争不需要保护。",
		source: always(claimFunction),
	},
}

// soldOnce explains that all was sold, by the strategy, if a further condition is met.
func soldOnce(holds func(facts) bool) explanation {
	return explanation{
		holds:  func(f facts) bool { return f.Codes["sold_out"] > 0 && f.Orders == f.InitialStock && holds(f) },
		en:     "Each unit was sold once, by {{.How.EN}}: {{.Orders}} sold, {{.Codes.sold_out}} refused as sold out, {{.Took.Milliseconds}} ms from the first claim to the last reply.{{with .Codes.claim_in_progress}} The lock kept {{.}} claims of users with another claim inside away from the database.{{end}}",
		zh:     "每张券只卖出一次，靠的是{{.How.ZH}}：卖出 {{.Orders}} 张，{{.Codes.sold_out}} 个被告知售罄，从第一个请求到最后一个应答用了 {{.Took.Milliseconds}} 毫秒。{{with .Codes.claim_in_progress}}锁另外挡下了 {{.}} 个同一用户的并发请求。{{end}}",
		source: decrementFunction,
	}
}

// strategies say how each takes the stock.
var strategies = map[string]Sentence{
	"each":        {"the condition in the UPDATE", "UPDATE 语句中的条件"},
	"optimistic":  {"the row's version, with a new attempt after each conflict", "行的版本号，冲突后重试"},
	"pessimistic": {"the row's lock, for which all claims queue", "行锁，所有请求为它排队"},
	"grouped":     {"the condition in an UPDATE for all claims that wait together", "一起等待的请求共用的那条 UPDATE 中的条件"},
}
