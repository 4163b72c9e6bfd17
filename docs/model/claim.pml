/*
 * Claims of a coupon, as package internal/order places them by group commit: two
 * instances, one database, a stock of one or two. User 1 sends claims 0 and 1 at a time,
 * user 2 sends claim 2. Either instance may take any of them in one batch.
 *
 * A fault strikes once: the database is killed and restarts, or a reply is lost,
 * or a whole transaction is delayed on its way and executed at any later time. A
 * client whose claim has no outcome claims again, with a new order id.
 *
 * An order ends as package internal/order/life ends it: two transactions, a return and the
 * expiry, have read it, and a third uses it.
 *
 * The lock of the user is left out, as if every lease ended too early: no promise
 * relies on it.
 *
 * Promises:
 *   I1  There are no more orders than the initial stock.
 *   I2  No user has two orders.
 *   I3  Stock and orders add up, and all is sold at the end, if no order has ended. A
 *       reply that names an order is true, and so is a refusal; after an order has ended,
 *       a delayed transaction may still sell its unit.
 *   I4  No order is used and has ended.
 *
 * Each WITHOUT_… removes one clause that the promises rely on.
 */

#define CLAIMS  3
#define USER(c) (c == 2 -> 2 : 1)
#define HAS(set, c) ((set) >> (c) & 1)
#define SIZE(set) (HAS(set, 0) + HAS(set, 1) + HAS(set, 2))

mtype = { queued, batched, placed, already_claimed, sold_out, unknown };
mtype = { committed, not_applied, broken };

/* The database: the stock, and the orders of each user. */
byte initial, stock;
byte orders[3], orderID[3];
byte owed; /* orders whose unit is not taken from the stock yet */
bool struck;
short ended; /* the ids of the orders that have ended, as bits */
byte due;    /* units of orders that have ended which are not in the stock yet */
byte used;   /* the id of the order that the till has used */

/* The instances: the claims of the batch and those that win, as bits; what the
   database has not executed yet; its reply. */
byte batch[2], won[2];
bool placeAll[2]; /* the whole transaction in one round trip, single_roundtrip.go */
bool open[2];     /* the interactive transaction, which has its row locks */
bool commit[2];
mtype reply[2];

byte late; /* the claims of a delayed transaction */

/* The claims: what the client knows, the order's id, and what the interactive
   transaction has found. */
mtype outcome[CLAIMS] = queued;
byte id[2 * CLAIMS]; /* those of the delayed transaction follow */
mtype verdict[CLAIMS];

#ifdef WITHOUT_UNIQUE_KEY
#define DUPLICATE(c, others) false
#else
#define DUPLICATE(c, others) (orders[USER(c)] > 0 || c < 2 && HAS(others, 1 - c % 2))
#endif

#ifdef WITHOUT_GUARD
#define IN_STOCK(units) true
#else
#define IN_STOCK(units) (stock >= owed + units)
#endif

/* Insert places one order and takes its unit from the stock. */
inline Insert(c, newID) {
	printf("database: commits order %d of user %d\n", newID, USER(c));
	orders[USER(c)]++;
	orderID[USER(c)] = newID;
	assert(orders[USER(c)] <= 1);             /* I2 */
	assert(orders[1] + orders[2] <= initial); /* I1 */
#ifdef WITHOUT_ONE_TRANSACTION
	owed++
#else
	stock--
#endif
}

inline InsertAll(set, from) {
	for (c : 0 .. CLAIMS - 1) {
		if
		:: HAS(set, c) -> Insert(c, id[from + c])
		:: else
		fi
	};
	c = 0
}

#define ANY_DUPLICATE(set) (HAS(set, 0) && DUPLICATE(0, set) || HAS(set, 1) && DUPLICATE(1, set) || HAS(set, 2) && DUPLICATE(2, set))

/* PlaceAll commits the orders of all claims, or none. */
inline PlaceAll(set, from) {
	if
	:: !ANY_DUPLICATE(set) && IN_STOCK(SIZE(set)) -> InsertAll(set, from); result = committed
	:: else -> result = not_applied
	fi
}

inline ExecutePlaceAll(i) {
	placeAll[i] = false;
	PlaceAll(batch[i], 0);
	reply[i] = result; result = 0
}

inline ExecuteCommit(i) {
	commit[i] = false; open[i] = false;
	InsertAll(won[i], 0);
	reply[i] = committed
}

inline Break(i) {
	if
	:: placeAll[i] || open[i] || reply[i] != 0 -> reply[i] = broken
	:: else
	fi;
	placeAll[i] = false; open[i] = false; commit[i] = false
}

active proctype Database() {
	byte c;
	mtype result;
	atomic {
		if
		:: initial = 1
		:: initial = 2
		fi;
		stock = initial };
end:	do
	:: atomic { placeAll[0] && !open[1] -> ExecutePlaceAll(0) }
	:: atomic { placeAll[1] && !open[0] -> ExecutePlaceAll(1) }
	:: atomic { commit[0] -> ExecuteCommit(0) }
	:: atomic { commit[1] -> ExecuteCommit(1) }
	:: atomic { late > 0 && !open[0] && !open[1] ->
		printf("database: receives the delayed transaction\n");
		PlaceAll(late, CLAIMS); late = 0; result = 0; id[3] = 0; id[4] = 0; id[5] = 0 }
	:: atomic { owed > 0 -> owed--; stock-- }
	:: atomic { due > 0 -> due--; stock++ }
	:: atomic { !struck -> struck = true; owed = 0; due = 0; Break(0); Break(1); printf("database: is killed and restarts\n") }
	od
}

/* Tell sends the client of c its reply. */
inline Tell(c, what) {
	outcome[c] = what; verdict[c] = 0;
	printf("instance %c: tells claim %d of user %d: %e\n", 'a' + me, c, USER(c), outcome[c]);
	assert(outcome[c] != placed || orderID[USER(c)] == id[c] || HAS(ended, id[c])); /* I3 */
	assert(outcome[c] != already_claimed || orders[USER(c)] > 0 || ended != 0)      /* I3 */
}

#define IS_REFUSAL(what) (what == already_claimed || what == sold_out)

inline TellBatch(what) {
	for (c : 0 .. CLAIMS - 1) {
		if
		:: HAS(batch[me], c) && outcome[c] == batched -> Tell(c, what)
		:: else
		fi
	};
	c = 0
}

/* Take begins a batch with any of the queued claims. */
inline Take() {
	for (c : 0 .. CLAIMS - 1) {
		if
		:: outcome[c] == queued -> outcome[c] = batched; batch[me] = batch[me] | (1 << c);
			id[c] = (id[c] == 0 -> CLAIMS + c : id[c] + CLAIMS);
			printf("instance %c: takes claim %d of user %d into its batch\n", 'a' + me, c, USER(c))
		:: true
		fi
	};
	c = 0
}

/* Apply finds the verdicts in an interactive transaction, which stays open if a
   claim wins. */
inline Apply() {
	reply[me] = 0; won[me] = 0;
	for (c : 0 .. CLAIMS - 1) {
		if
		:: HAS(batch[me], c) ->
			if
			:: DUPLICATE(c, won[me]) -> verdict[c] = already_claimed
			:: !DUPLICATE(c, won[me]) && IN_STOCK(SIZE(won[me]) + 1) -> verdict[c] = placed; won[me] = won[me] | (1 << c)
			:: else -> verdict[c] = sold_out
			fi
		:: else
		fi
	};
	c = 0;
	open[me] = won[me] > 0
}

/* Lose gives up the wait for a reply. What the database has not received yet is
   delayed. */
inline Lose() {
	struck = true; reply[me] = broken;
	printf("network: delays or loses a message of instance %c\n", 'a' + me);
	if
	:: placeAll[me] -> late = batch[me]; id[3] = id[0]; id[4] = id[1]; id[5] = id[2]
	:: else
	fi;
	placeAll[me] = false
}

#define FIRST(set) (HAS(set, 0) -> 0 : (HAS(set, 1) -> 1 : 2))
#define IS_COMMITTED (orderID[USER(FIRST(won[me]))] == id[FIRST(won[me])]) /* read_back.go */

active [2] proctype Instance() {
	byte me = _pid - 1;
	byte c;
end:	do
	:: atomic {
		(outcome[0] == queued || outcome[1] == queued || outcome[2] == queued) -> Take();
		if
		:: batch[me] > 0 -> placeAll[me] = true; won[me] = batch[me]
		:: else -> goto end
		fi };
		if
		:: atomic { reply[me] == not_applied && !open[1 - me] -> Apply() };
			if
			:: atomic { open[me] -> commit[me] = true; printf("instance %c: sends COMMIT\n", 'a' + me);
#ifdef WITHOUT_COMMIT_BEFORE_REFUSALS
				for (c : 0 .. CLAIMS - 1) {
					if
					:: HAS(batch[me], c) && IS_REFUSAL(verdict[c]) -> Tell(c, verdict[c])
					:: else
					fi
				};
				c = 0
#endif
				}
			:: atomic { won[me] == 0 -> reply[me] = committed } /* nothing to commit */
			:: reply[me] == broken
			fi
		:: reply[me] == committed || reply[me] == broken
		:: atomic { !struck && reply[me] != broken -> Lose() }
		fi;
		if
		:: atomic { reply[me] == committed -> TellBatch((verdict[c] == 0 -> placed : verdict[c])) }
		:: atomic { !struck && reply[me] != broken -> Lose() }; goto readBack
		:: reply[me] == broken ->
readBack:		atomic { !open[me] -> /* FOR UPDATE blocks while the transaction is running */
			if
#ifdef WITHOUT_READ_BACK
			:: true -> TellBatch((verdict[c] == 0 -> placed : verdict[c])) /* an unknown commit is acknowledged */
#else
			:: IS_COMMITTED -> TellBatch((verdict[c] == 0 -> placed : verdict[c]))
#endif
#ifdef WITHOUT_DOUBT
			:: !IS_COMMITTED -> TellBatch(sold_out) /* as if what is not found could not come yet */
#else
			:: !IS_COMMITTED -> TellBatch(unknown)
#endif
			fi }
		fi;
		atomic { batch[me] = 0; won[me] = 0; reply[me] = 0 }
	od
}

/* Clients claim again while the outcome is unknown. */
active proctype Clients() {
end:	do
#ifndef WITHOUT_RETRY_OF_CLIENT
	:: outcome[0] == unknown -> outcome[0] = queued
	:: outcome[1] == unknown -> outcome[1] = queued
	:: outcome[2] == unknown -> outcome[2] = queued
#endif
	:: false
	od
}

/* SEE reads an order of a user, and waits while there is none. */
#define SEE(u) atomic { orders[u] > 0 -> user = u; seen = orderID[u] }
#define COUNTS (orders[user] > 0 && orderID[user] == seen)

#ifdef WITHOUT_UNUSED
#define ENDS COUNTS
#else
#define ENDS (COUNTS && used != seen)
#endif

/* Life is what happens to an order after its claim: two transactions that end it and one
   that uses it have all read it, and are executed in any order. */
active proctype Life() {
	byte user, seen, ends = 2;
	bool use = true;
end:	if
	:: SEE(1)
	:: SEE(2)
	fi;
	do
	:: atomic { use -> use = false;
		if
		:: COUNTS -> used = seen; printf("database: order %d of user %d is used\n", seen, user)
		:: else
		fi }
	:: atomic { ends > 0 && !open[0] && !open[1] -> ends--;
		if
		:: ENDS ->
			printf("database: ends order %d of user %d\n", seen, user);
			assert(used != seen); /* I4 */
			orders[user]--; orderID[user] = 0; ended = ended | (1 << seen);
#ifdef WITHOUT_ONE_TRANSACTION_OF_ENDS
			due++
#else
			stock++
#endif
		:: else ->
#ifdef WITHOUT_ROW_COUNT
			printf("database: gives the unit of order %d back again\n", seen);
			stock++
#else
			skip
#endif
		fi }
	:: ends == 0 && !use -> break
	od
}

#ifdef WITHOUT_RETRY_OF_CLIENT
#define SETTLED(c) (outcome[c] != queued && outcome[c] != batched)
#else
#define SETTLED(c) (outcome[c] != queued && outcome[c] != batched && outcome[c] != unknown)
#endif

/* Judge audits when no claim and no transaction is under way. */
active proctype Judge() {
end:	atomic {
		SETTLED(0) && SETTLED(1) && SETTLED(2) && batch[0] == 0 && batch[1] == 0 && late == 0 && initial > 0 && owed == 0 && due == 0 ->
		printf("audit: stock %d, orders of user 1: %d, of user 2: %d\n", stock, orders[1], orders[2]);
		assert(stock + orders[1] + orders[2] == initial); /* I3 */
		assert(ended != 0 || stock == 0);
		assert(ended != 0 || outcome[2] != sold_out || orders[2] == 0);
		assert(ended != 0 || outcome[0] != sold_out && outcome[1] != sold_out || orders[1] == 0)
	}
}
