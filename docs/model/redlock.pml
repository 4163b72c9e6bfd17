/*
 * The RedLock of package internal/lock/redlock: two clients lock one key on five
 * nodes. Each locks once, and A renews its lease once.
 *
 * A node executes a request at any later time, or never, also after the client
 * has given up. CRASHES nodes stop and lose their data. All clocks run at one
 * rate. Counters are the ticks that are left.
 *
 * Promise: no two clients hold the lock.
 *
 * Each WITHOUT_… removes one clause that the promise relies on.
 */

#define NODES   5
#define TTL     2
#define CRASHES 1

#ifdef WITHOUT_MAJORITY
#define QUORUM 2
#else
#define QUORUM 3 /* Locker.quorum */
#endif

/* A lease is named by its owner token. */
#define A 1
#define B 2
#define NAME(lease) (lease == A -> 'A' : 'B')

/* A node is one byte: who has the key, for how long, and of which leases it has a
   request. Nodes that are in the same state cannot be told apart; their order
   has no meaning, and the array is kept sorted so that the checker need not
   visit every order. */
byte node[NODES];

#define STOPPED       3 /* in place of a holder */
#define HOLDER(n)     ((n) % 4)
#define EXPIRY(n)     ((n) / 4 % 3)
#define BIT(lease)    (12 * lease)
#define ASKED(n, lease) ((n) / BIT(lease) % 2)
#define SET(n, h, e)  n = (n) / 12 * 12 + (h) + 4 * (e)

/* The clients: the state of a lease. */
mtype = { requested, held, renewing, ended };
mtype phase[3];
byte votes[3];    /* nodes that have granted the request that is under way */
byte deadline[3]; /* until Err() returns ErrLost */
byte renewed;     /* what the deadline of A will be if its renewal succeeds */
byte crashes;

byte k, x;

/* Move moves node i to its place. */
inline Move(i) {
	k = i;
	do
	:: k > 0 && node[k - 1] > node[k] -> x = node[k]; node[k] = node[k - 1]; k--; node[k] = x
	:: k < NODES - 1 && node[k] > node[k + 1] -> x = node[k]; node[k] = node[k + 1]; k++; node[k] = x
	:: else -> break
	od;
	k = 0; x = 0
}

inline Sort() { Move(1); Move(2); Move(3); Move(4) }

/* Vote counts a grant of the request that the client waits for. */
inline Vote(lease, wanted) {
	if
	:: phase[lease] == wanted && votes[lease] < QUORUM -> votes[lease]++
	:: else
	fi
}

/* Serve executes the request of a lease: TryLock, or Extend of a lease that is
   held. Extend on a node that has not granted the lease is a TryLock, whose grant
   does not count. */
inline Serve(lease) {
	node[i] = node[i] - BIT(lease);
	if
	:: HOLDER(node[i]) == 0 ->
		SET(node[i], lease, TTL);
		printf("node: grants %c its lease\n", NAME(lease));
		Vote(lease, requested)
	:: HOLDER(node[i]) == lease ->
		SET(node[i], lease, TTL);
		printf("node: extends the lease of %c\n", NAME(lease));
		Vote(lease, renewing)
	:: else -> printf("node: refuses %c\n", NAME(lease))
	fi;
	Move(i)
}

#define MAY_SERVE(lease) HOLDER(node[i]) != STOPPED && ASKED(node[i], lease)

/* The Release of a lease that A has given up before it requested this one may
   arrive at any time. */
#ifdef WITHOUT_TOKEN_OF_EACH_LEASE
#define MAY_RELEASE HOLDER(node[i]) == A
#else
#define MAY_RELEASE HOLDER(node[i]) == A && phase[A] == ended
#endif

inline Free() {
	SET(node[i], 0, 0);
	printf("node: executes a Release of A\n");
	Move(i)
}

/* Of several nodes in the same state, the first acts. */
#define IS_FIRST (i == 0 || node[i - (i > 0)] != node[i])

active [NODES] proctype Node() {
	byte i = _pid;
end:	do
	:: d_step { IS_FIRST && MAY_SERVE(A) -> Serve(A) }
	:: d_step { IS_FIRST && MAY_SERVE(B) -> Serve(B) }
	:: d_step { IS_FIRST && MAY_RELEASE -> Free() }
	:: d_step { IS_FIRST && crashes < CRASHES && HOLDER(node[i]) > 0 && HOLDER(node[i]) != STOPPED ->
		crashes++;
#ifdef WITHOUT_LONG_STOP
		SET(node[i], 0, 0);
		printf("node: restarts without its data\n");
#else
		SET(node[i], STOPPED, TTL); /* for longer than the longest ttl */
		printf("node: stops and loses its data\n");
#endif
		Move(i) }
	od
}

inline Pass(d) {
	if
	:: d > 0 -> d--
	:: else
	fi
}

/* Age lets one tick pass on a node. At the end of a lease there is no holder. */
#define Age(i) SET(node[i], (EXPIRY(node[i]) > 1 -> HOLDER(node[i]) : 0), (EXPIRY(node[i]) > 0 -> EXPIRY(node[i]) - 1 : 0))
#define ANY_EXPIRY (EXPIRY(node[0]) + EXPIRY(node[1]) + EXPIRY(node[2]) + EXPIRY(node[3]) + EXPIRY(node[4]) > 0)

active proctype Clock() {
end:	do
	:: d_step {
		ANY_EXPIRY || deadline[A] > 0 || deadline[B] > 0 ->
		printf("clock: ticks\n");
		Pass(deadline[A]); Pass(deadline[B]); Pass(renewed);
		Age(0); Age(1); Age(2); Age(3); Age(4);
		Sort() }
	od
}

#define Ask(i, lease) node[i] = node[i] + (ASKED(node[i], lease) -> 0 : BIT(lease))

inline RequestAll(lease) {
	votes[lease] = 0;
	Ask(0, lease); Ask(1, lease); Ask(2, lease); Ask(3, lease); Ask(4, lease);
	Sort()
}

inline End(lease) {
	phase[lease] = ended; deadline[lease] = 0; votes[lease] = 0
}

#ifdef WITHOUT_REQUEST_TIME
#define DEADLINE(requested) TTL /* from the reply that makes the majority */
#else
#define DEADLINE(requested) requested /* from before the request */
#endif

#define HOLDS(lease) ((phase[lease] == held || phase[lease] == renewing) && deadline[lease] > 0)

#ifdef WITHOUT_MAJORITY_OF_EXTENDS
#define EXTENDED votes[A] > 0
#else
#define EXTENDED votes[A] >= QUORUM
#endif

/* A client that gives up is one that does not go on. */
inline Lock(lease) {
	d_step {
		phase[lease] = requested; deadline[lease] = TTL; RequestAll(lease);
		printf("%c: sends TryLock to all nodes\n", NAME(lease)) };
end_of_wait:	d_step { votes[lease] >= QUORUM && DEADLINE(deadline[lease]) > 0 ->
		phase[lease] = held; votes[lease] = 0; deadline[lease] = DEADLINE(deadline[lease]);
		printf("%c: holds the lock\n", NAME(lease));
		assert(!(HOLDS(A) && HOLDS(B))) }
}

active proctype ClientA() {
	Lock(A);
	if
	:: d_step { HOLDS(A) -> phase[A] = renewing; renewed = TTL; RequestAll(A); printf("A: sends Extend to all nodes\n") };
		if
		:: d_step { EXTENDED -> phase[A] = held; votes[A] = 0; deadline[A] = DEADLINE(renewed); renewed = 0;
			printf("A: has renewed the lease\n");
			assert(!(HOLDS(A) && HOLDS(B))) }
		:: d_step { deadline[A] == 0 -> End(A); renewed = 0 }
		fi
	:: d_step { phase[A] == held -> End(A); printf("A: sends Release to all nodes\n") }
	fi
}

active proctype ClientB() { Lock(B) }
