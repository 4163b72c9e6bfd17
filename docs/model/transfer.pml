/*
 * The stock of a coupon in two segments on two shards, between which units move as
 * package internal/order/commit moves them: two instances sell to users of either
 * segment, and each step is a transaction of one shard. A claim that finds its segment
 * empty reads both, one after the other, and sends half of what the other has. Units
 * that were sent and have not arrived are in transit; whoever sees them completes the
 * transfer.
 *
 * An instance is killed after it has sent units, once, and forgets its claim. An order is
 * returned, or the coupon is restocked by a unit for each segment: two steps, and a
 * client that got no reply sends the same request again, once.
 *
 * Promises:
 *   I1  No more orders count than units were put on sale.
 *   I3  Stock, units in transit and orders are what was put on sale. A claim is told
 *       sold_out only if there was a moment since it began at which nothing was left,
 *       not even in transit.
 *
 * Each WITHOUT_… removes one clause that the promises rely on.
 */

#define UNITS 1 /* of each segment */
#define TRANSFERS 3 /* units at most */
#define OTHER (1 - own)

/* Shard s: its stock, the units that it has ever sent to the other one, those that have
   arrived from there, its orders, its version, which rises when units are added, and
   whether it has the row of the restock. */
byte stock[2] = UNITS, sent[2], arrived[2], orders[2], version[2];
bool restocked[2];
byte onSale = 2 * UNITS;
byte taken[2]; /* by an instance, and not counted as sent */

bool killed;
bool wasEmpty[2]; /* nothing was left at a moment since the instance's claim began */

#define LEFT (stock[0] + stock[1] + sent[0] - arrived[1] + sent[1] - arrived[0] + taken[0] + taken[1])

inline Check() {
	assert(orders[0] + orders[1] <= onSale);        /* I1 */
	assert(LEFT + orders[0] + orders[1] == onSale); /* I3 */
	if
	:: LEFT == 0 -> wasEmpty[0] = true; wasEmpty[1] = true
	:: else
	fi
}

inline MayBeKilled() {
	if
	:: true
	:: atomic { !killed -> killed = true; taken[me] = 0; printf("instance %c: is killed\n", 'a' + me); Check() }; goto end
	fi
}

inline Return(s) {
	orders[s]--; stock[s]++; version[s]++;
	printf("database: an order of segment %d is returned\n", s); Check()
}

active proctype Administrator() {
	byte s;
	bool repeated;
end:	if
	:: atomic { orders[0] > 0 -> Return(0) }
	:: atomic { orders[1] > 0 -> Return(1) }
	:: true ->
		do
		:: atomic { s < 2 ->
			if
#ifndef WITHOUT_ROW_OF_RESTOCK
			:: restocked[s] -> skip
#endif
			:: else -> stock[s]++; version[s]++;
				if
				:: restocked[s]
				:: else -> onSale++; restocked[s] = true
				fi;
				printf("database: segment %d is restocked\n", s); Check()
			fi;
			s++ }
		:: atomic { s > 0 && !repeated -> repeated = true; s = 0 } /* no reply */
		:: s == 2 -> break
		od
	fi
}

/* Read reads a shard: what collect keeps of it. */
inline Read(s) {
	n[s] = stock[s]; out[s] = sent[s]; in[s] = arrived[s]; v = v + version[s];
	printf("instance %c: reads segment %d: %d units, %d sent, %d arrived\n", 'a' + me, s, n[s], out[s], in[s])
}

#ifdef WITHOUT_TRANSIT
#define IN_TRANSIT(s) false
#else
#define IN_TRANSIT(s) (out[s] > in[1 - s])
#endif

/* Receive adds what has not arrived yet of the units that shard from had ever sent. */
inline Receive(from) {
#ifdef WITHOUT_ARRIVED
	due = known - in[1 - from];
#else
	due = (known > arrived[1 - from] -> known - arrived[1 - from] : 0);
#endif
	stock[1 - from] = stock[1 - from] + due; arrived[1 - from] = arrived[1 - from] + due;
	printf("instance %c: %d units arrive in segment %d\n", 'a' + me, due, 1 - from);
	due = 0; Check()
}

/* Forget keeps the number of states small. */
inline Forget() {
	n[0] = 0; n[1] = 0; out[0] = 0; out[1] = 0; in[0] = 0; in[1] = 0;
	known = 0; half = 0; again = false; v = 0; seen = 0
}

active [2] proctype Instance() {
	byte me = _pid - 1;
	byte own, half, known, due;
	byte n[2], out[2], in[2]; /* what was read */
	byte v, seen;             /* the version, and that at which nothing was left */
	bool again;
end:	do
	:: atomic {
		if
		:: own = 0
		:: own = 1
		fi;
		wasEmpty[me] = LEFT == 0 };
claim:		if
		:: atomic { stock[own] > 0 -> Forget(); stock[own]--; orders[own]++;
			printf("instance %c: sells a unit of segment %d\n", 'a' + me, own); Check() }; goto end
		:: atomic { stock[own] == 0 -> Forget() }
		fi;
collect:	atomic { Read(0) };
		atomic { Read(1) };
		if
		:: atomic { IN_TRANSIT(0) || IN_TRANSIT(1) ->
			if
			:: IN_TRANSIT(0) -> half = 0
			:: else -> half = 1
			fi;
			known = sent[half] };
			atomic { Receive(half) }; goto claim
		:: atomic { !IN_TRANSIT(0) && !IN_TRANSIT(1) && n[own] > 0 -> skip }; goto claim
		:: atomic { !IN_TRANSIT(0) && !IN_TRANSIT(1) && n[own] == 0 && n[OTHER] > 0 ->
			if
			:: sent[0] + sent[1] >= TRANSFERS -> goto end /* its time is over */
			:: else -> half = (n[OTHER] + 1) / 2
			fi };
#ifdef WITHOUT_ONE_TRANSACTION
			atomic {
				if
				:: stock[OTHER] < half -> goto claim
				:: else -> stock[OTHER] = stock[OTHER] - half; taken[me] = half;
					printf("instance %c: takes %d units from segment %d\n", 'a' + me, half, OTHER)
				fi };
			MayBeKilled();
			atomic { sent[OTHER] = sent[OTHER] + half; taken[me] = 0 };
#else
			atomic {
				if
#ifdef WITHOUT_GUARD
				:: true ->
#else
				:: stock[OTHER] < half -> goto claim
				:: else ->
#endif
					stock[OTHER] = stock[OTHER] - half; sent[OTHER] = sent[OTHER] + half;
					printf("instance %c: sends %d units from segment %d\n", 'a' + me, half, OTHER); Check()
				fi };
#endif
			MayBeKilled();
			atomic { known = sent[OTHER] };
			atomic { Receive(OTHER) }; goto claim
		:: atomic { !IN_TRANSIT(0) && !IN_TRANSIT(1) && n[0] == 0 && n[1] == 0 ->
#ifndef WITHOUT_SECOND_READ
			if
			:: !again || seen != v -> again = true; seen = v; v = 0; in[0] = 0; in[1] = 0; goto collect
			:: else
			fi;
#endif
			printf("instance %c: tells a user of segment %d: sold_out\n", 'a' + me, own);
			assert(wasEmpty[me]) }; /* I3 */
		fi
	od
}
