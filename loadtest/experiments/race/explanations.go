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

// explanations are in order of importance. A broken promise comes first.
var explanations = []explanation{
	{
		holds: func(f facts) bool { return f.struckWithoutHarm() && f.Overlaps > 0 },
		say: func(f facts) Sentence {
			return sentence("Under the fault the lock no longer excluded: %[1]d times a claim entered beside another of the same key. The guards and the holder's own deadline kept the orders right.",
				"故障使锁不再互斥：有 %[1]d 次，一个请求进入时同一把锁的另一个请求还在里面。订单仍然正确，靠的是数据库保护和持有者自己的期限。",
				f.Overlaps)
		},
		source: lockFunction,
	},
	{
		holds: func(f facts) bool { return f.struckWithoutHarm() },
		say: func(f facts) Sentence {
			return sentence("The fault struck while a claim was in its section, and no other entered beside it.",
				"故障发生时有请求在临界区内，没有别的请求与它同时进入。")
		},
		source: lockFunction,
	},
	{
		holds: func(f facts) bool { return f.settings.Fault != noFault && !f.struck && f.intact() },
		say: func(facts) Sentence {
			return sentence("The fault met no claim in its section: the holder had left before it struck, or nothing was lost. This race shows nothing; run it again.",
				"故障没有碰到临界区内的请求：持有者已先离开，或者什么也没有丢。这一场说明不了什么，请重来。")
		},
		source: lockFunction,
	},
	{ // a mutex of each instance
		holds: func(f facts) bool {
			return f.Duplicates > 0 && f.settings.Lock == "local" && f.Overlaps > 0 && f.overlapsInside == 0
		},
		say: func(f facts) Sentence {
			return sentence("The mutex of one instance does not exclude the other: %[1]d times a claim entered its critical section while another instance had one of the same key inside, those that %[3]s, so %[2]d orders are %[4]s.",
				"进程内的锁拦不住另一个实例：有 %[1]d 次，一个请求进入临界区时，另一个实例正有同一把锁的请求在里面，%[5]s，于是多出 %[2]d 个%[6]s订单。",
				f.Overlaps, f.Duplicates, f.looked().EN, f.beyond().EN, f.looked().ZH, f.beyond().ZH)
		},
		source: lockFunction,
	},
	{
		holds: func(f facts) bool { return f.Duplicates > 0 && f.Overlaps > 0 && f.settings.Lock == "none" },
		say: func(f facts) Sentence {
			return sentence("Nothing kept the claims of one user apart: %[1]d times one entered while another was inside; those that %[3]s and inserted their own, so %[2]d orders are %[4]s.",
				"没有任何东西把同一用户的请求隔开：有 %[1]d 次，一个请求进入时另一个还在里面；%[5]s，于是各自插入，多出 %[2]d 个%[6]s订单。", f.Overlaps,
				f.Duplicates, f.looked().EN, f.beyond().EN, f.looked().ZH, f.beyond().ZH).with(f.alsoOversold())
		},
		source: facts.look,
	},
	{ // a lock that did not exclude
		holds: func(f facts) bool { return f.Duplicates > 0 && f.Overlaps > 0 },
		say: func(f facts) Sentence {
			return sentence("The lock was granted to two holders at once: %[1]d sections of one key overlapped, and %[2]d orders are %[3]s.",
				"锁同时给了两个持有者：同一把锁的临界区重叠 %[1]d 次，多出 %[2]d 个%[4]s订单。", f.Overlaps, f.Duplicates,
				f.beyond().EN, f.beyond().ZH)
		},
		source: lockFunction,
	},
	{
		holds: func(f facts) bool { return f.Duplicates > 0 },
		say: func(f facts) Sentence {
			return sentence("%[1]d orders are %[2]s, although no sections of one key overlapped.",
				"虽然同一把锁的临界区没有重叠，仍有 %[1]d 个%[3]s订单。", f.Duplicates, f.beyond().EN, f.beyond().ZH)
		},
		source: facts.look,
	},
	{
		holds: func(f facts) bool {
			return f.Oversold > 0 && f.settings.Lock != "none" && f.settings.LockScope == "user"
		},
		say: func(f facts) Sentence {
			return sentence("A lock per user does not guard the stock: claims of different users hold different locks, so %[1]d times one entered while another was inside; those that read the stock before another had taken its unit sold %[2]d too many.",
				"按用户加锁保护不了库存：不同用户持有不同的锁，有 %[1]d 次一个请求进入时另一个还在里面；在别人扣减之前读到库存的，一共超卖了 %[2]d 张。",
				f.overlapsAcross, f.Oversold)
		},
		source: always(decrementUnguarded),
	},
	{
		holds: func(f facts) bool { return f.Oversold > 0 },
		say: func(f facts) Sentence {
			return sentence("Check, then act: %[1]d times a claim entered while another was inside; those that read the stock before another had taken its unit sold %[2]d too many.",
				"先检查、后行动：有 %[1]d 次一个请求进入时另一个还在里面；在别人扣减之前读到库存的，一共超卖了 %[2]d 张。", f.overlapsAcross, f.Oversold)
		},
		source: always(decrementUnguarded),
	},
	{
		holds: func(f facts) bool { return f.Missing+f.Undersold+f.Unsold > 0 },
		say: func(f facts) Sentence {
			return sentence("%[1]d acknowledged orders are missing, %[2]d units left the stock without an order, and %[3]d units that were wanted are unsold.",
				"已确认的订单丢失 %[1]d 个，%[2]d 张库存被扣减却没有订单，还有 %[3]d 张有人要却没有卖出。", f.Missing, f.Undersold, f.Unsold)
		},
		source: func(f facts) function {
			if f.settings.Commit == "grouped" {
				return commitMany
			}
			return commitOne
		},
	},
	{
		holds: func(f facts) bool {
			return !f.unique() && f.excluded() && f.workload.ClaimsPerUser > f.workload.PerUser
		},
		say: func(f facts) Sentence {
			return sentence("The lock let one claim in at a time: %[1]d were refused because another claim of their user was inside, %[2]d found what earlier ones had got, no sections of one key overlapped, and nobody has more than %[3]d although there is no unique key.",
				"锁每次只放一个请求进入：%[1]d 个因同一用户的另一请求正在处理而被拒绝，%[2]d 个查到了先前的订单；同一把锁的临界区从不重叠，虽然没有唯一索引，也没有人超过 %[3]d 张。",
				f.Codes["claim_in_progress"], f.found(), f.workload.PerUser)
		},
		source: lockFunction,
	},
	{
		holds: func(f facts) bool { return !f.stockGuarded() && f.excluded() && f.settings.LockScope == "coupon" },
		say: func(f facts) Sentence {
			return sentence("The lock let one claim of the coupon in at a time, so each read the stock that the one before had left: %[1]d sold and %[2]d refused as sold out, without a condition in the UPDATE, and one after the other.",
				"锁每次只放该优惠券的一个请求进入，每个请求读到的都是前一个留下的库存：卖出 %[1]d 张，%[2]d 个被告知售罄；UPDATE 没有条件，代价是逐个排队。", f.Orders,
				f.Codes["sold_out"])
		},
		source: lockFunction,
	},
	{
		holds: func(f facts) bool {
			return !f.stockGuarded() && f.settings.excludes() && f.settings.LockScope == "segment" && f.Overlaps == 0
		},
		say: func(f facts) Sentence {
			return sentence("The lock let one claim of each segment in at a time, and %[1]d times one entered while claims of other segments were inside: %[2]d sold and %[3]d refused as sold out, without a condition in the UPDATE, and not one after the other.",
				"锁在每个分段里每次只放一个请求进入，有 %[1]d 次进入时其他分段的请求还在里面：卖出 %[2]d 张，%[3]d 个被告知售罄；UPDATE 没有条件，也不必逐个排队。",
				f.overlapsAcross, f.Orders, f.Codes["sold_out"])
		},
		source: lockFunction,
	},
	{
		holds: func(f facts) bool {
			return !f.unique() && f.workload.ClaimsPerUser > f.workload.PerUser || !f.stockGuarded() &&
				f.workload.wanted() > f.workload.Stock
		},
		say: func(f facts) Sentence {
			return sentence("Nothing broke, but nothing prevented it either: the overlaps of sections of one key (%[1]d) did no harm this time. Start it again, or send more claims.",
				"什么都没有出错，但也没有任何东西防止出错：同一把锁的临界区重叠了 %[1]d 次，这次没有造成损害。请再来一次，或发出更多请求。", f.Overlaps)
		},
		source: always(claimFunction),
	},
	{ // what the sides differ in
		holds: func(f facts) bool {
			return f.commitDiffers && f.Codes["sold_out"] > 0 && f.Orders == f.InitialStock
		},
		say: func(f facts) Sentence {
			return sentence("Each unit was sold once, by %[1]s: %[2]d sold, %[3]d refused as sold out, %[4]d ms from the first claim to the last reply.",
				"每张券只卖出一次，靠的是%[5]s：卖出 %[2]d 张，%[3]d 个被告知售罄，从第一个请求到最后一个应答用了 %[4]d 毫秒。", how(f).EN, f.Orders,
				f.Codes["sold_out"], f.took.Milliseconds(), how(f).ZH)
		},
		source: decrementFunction,
	},
	{
		holds: func(f facts) bool { return f.Overlaps > 0 && f.workload.ClaimsPerUser > 1 },
		say: func(f facts) Sentence {
			return sentence("Claims of one user were inside at once %[1]d times, and the unique key refused every order that there was already: %[2]d claims were told of it, %[3]d sold, none twice.",
				"同一用户的请求有 %[1]d 次同时在临界区内，已有的订单再次插入时一律被唯一索引拒绝：%[2]d 个请求得知已有订单，共卖出 %[3]d 张，无一重复。", f.Overlaps,
				f.Codes["already_claimed"], f.Orders)
		},
		source: uniqueKeyFunction,
	},
	{
		holds: func(f facts) bool { return f.Codes["sold_out"] > 0 && f.Orders == f.InitialStock },
		say: func(f facts) Sentence {
			return sentence("Each unit was sold once, by %[1]s: %[2]d sold, %[3]d refused as sold out.",
				"每张券只卖出一次，靠的是%[4]s：卖出 %[2]d 张，%[3]d 个被告知售罄。", how(f).EN, f.Orders, f.Codes["sold_out"],
				how(f).ZH).with(f.keptAway())
		},
		source: decrementFunction,
	},
	{
		holds: func(f facts) bool { return f.excluded() && f.workload.ClaimsPerUser > 1 },
		say: func(f facts) Sentence {
			return sentence("The lock kept %[1]d claims of users with another claim inside away from the database, and %[2]d found the order of an earlier one; the unique key had nothing to refuse.",
				"锁挡下了 %[1]d 个同一用户的并发请求，%[2]d 个查到了先前的订单；唯一索引没有什么可拒绝的。", f.Codes["claim_in_progress"],
				f.Codes["already_claimed"])
		},
		source: lockFunction,
	},
	{
		holds: func(facts) bool { return true },
		say: func(f facts) Sentence {
			return sentence("Every claim had its own user and there was enough for all: %[1]d sold. Such a race needs no protection.",
				"每个请求来自不同的用户，库存也足够：卖出 %[1]d 张。这样的竞争不需要保护。", f.Orders)
		},
		source: always(claimFunction),
	},
}

// how says how a strategy takes the stock.
func how(f facts) Sentence { return strategies[f.settings.Commit] }

var strategies = map[string]Sentence{
	"each":        {"the condition in the UPDATE", "UPDATE 语句中的条件"},
	"optimistic":  {"the row's version, with a new attempt after each conflict", "行的版本号，冲突后重试"},
	"pessimistic": {"the row's lock, for which all claims queue", "行锁，所有请求为它排队"},
	"grouped":     {"the condition in an UPDATE for all claims that wait together", "一起等待的请求共用的那条 UPDATE 中的条件"},
}

// keptAway is what to add if the lock has refused claims.
func (f facts) keptAway() (addition Sentence) {
	if n := f.Codes["claim_in_progress"]; n > 0 {
		addition = sentence(" The lock kept %[1]d claims of users with another claim inside away from the database.",
			"锁另外挡下了 %[1]d 个同一用户的并发请求。", n)
	}
	return addition
}

// alsoOversold is what to add if duplicates were sold beyond the stock.
func (f facts) alsoOversold() (addition Sentence) {
	if f.Oversold > 0 {
		addition = sentence(" %[1]d more were sold than there were.", "并且超卖 %[1]d 张。", f.Oversold)
	}
	return addition
}

// struckWithoutHarm reports whether a fault struck, and broke no promise.
func (f facts) struckWithoutHarm() bool { return f.struck && f.intact() }

// intact reports whether no promise is broken.
func (f facts) intact() bool { return f.Duplicates+f.Oversold+f.Missing+f.Undersold == 0 }
