/*
 * The lease of package internal/lock on one server, with the resource that it
 * protects. Client A locks the key twice, client B once.
 *
 * A request or a reply may arrive at any later time, or never; requests may
 * overtake each other. A client may pause between any two of its steps, and may
 * crash. One clock may miss one tick. Counters are the ticks that are left.
 *
 * Promises:
 *   1  While Err() is nil, no other client has the key.
 *   2  The resource applies writes in the order of the leases.
 *   3  Whoever waits for the key can lock it: no process is left blocked.
 *
 * Each WITHOUT_… removes one clause that the promises rely on.
 */

#define TTL 2

#ifdef WITHOUT_MARGIN
#define SAFE_TTL TTL
#else
#define SAFE_TTL (TTL - 1) /* safeTTL in watchdog.go */
#endif

/* A lease is named by its owner token: 1 and 2 are of client A, 3 is of B. */
#define DONE 4 /* in place of a lease */
#define NAME(lease) (lease == 3 -> 'B' : 'A')

mtype = { expected, granted, refused };

/* Requests that are sent and not executed yet, and replies, of each lease. */
bool tryLock[4], extend[4], release[4];
mtype reply[4]; /* 0 if the client does not wait for one */

/* The server: the key's value is a token, its expiry the end of the lease. */
byte holder; /* 0 if the key is free */
byte expiry; /* 0 if the key does not expire */
byte lastFence;

/* The clients: the state of a lease. */
byte fence[4];
byte deadline[4]; /* until Err() returns ErrLost */
byte renewed[4];  /* what the deadline will be if the renewal that is under way succeeds */
byte slow;        /* the lease whose client's clock misses the next tick */

byte written; /* the resource: the fence of the last write that was applied */

inline Reply(verdict) {
	if
	:: reply[lease] == expected -> reply[lease] = verdict
	:: else
	fi
}

inline Grant() {
	if
	:: holder == 0 -> lastFence++
	:: else
	fi;
	if
	:: reply[lease] == expected -> fence[lease] = lastFence
	:: else
	fi;
	holder = lease;
#ifdef WITHOUT_EXPIRY
	expiry = 0; /* SETNX; EXPIRE is the client's next request */
#else
	expiry = TTL;
#endif
	Reply(granted);
	printf("server: grants %c a lease\n", NAME(lease))
}

inline Refuse() {
	Reply(refused);
	printf("server: refuses %c\n", NAME(lease))
}

inline Extend() {
	expiry = TTL;
	Reply(granted);
	printf("server: extends the lease of %c\n", NAME(lease))
}

#ifdef WITHOUT_OWNER
#define MAY_DELETE true /* DEL */
#else
#ifdef WITHOUT_ATOMIC_RELEASE
#define MAY_DELETE true /* DEL; GET was a request of its own */
#else
#define MAY_DELETE holder == lease /* release.lua */
#endif
#endif

inline Delete() {
	holder = 0; expiry = 0;
	printf("server: deletes the key for %c\n", NAME(lease))
}

/* Server executes the requests of one lease. */
active [3] proctype Server() {
	byte lease = _pid + 1;
end:	do
	:: atomic { tryLock[lease] && (holder == 0 || holder == lease) -> tryLock[lease] = false; Grant() }
	:: atomic { tryLock[lease] && holder != 0 && holder != lease -> tryLock[lease] = false; Refuse() }
	:: atomic { extend[lease] && holder == lease -> extend[lease] = false; Extend() }
	:: atomic { extend[lease] && holder != lease -> extend[lease] = false; Refuse() }
	:: atomic { release[lease] && MAY_DELETE -> release[lease] = false; Delete() }
	:: atomic { release[lease] && !(MAY_DELETE) -> release[lease] = false }
	od
}

inline Tick(lease) {
	if
	:: slow == lease -> slow = DONE
	:: slow != lease && (deadline[lease] > 0 || renewed[lease] > 0) ->
		deadline[lease] = (deadline[lease] > 0 -> deadline[lease] - 1 : 0);
		renewed[lease] = (renewed[lease] > 0 -> renewed[lease] - 1 : 0)
	:: slow != lease && deadline[lease] == 0 && renewed[lease] == 0
	fi
}

active proctype Clock() {
end:	do
	:: atomic {
		expiry > 0 || deadline[1] > 0 || deadline[2] > 0 || deadline[3] > 0 ->
		Tick(1); Tick(2); Tick(3);
		if
		:: expiry > 1 -> expiry--; printf("clock: ticks\n")
		:: expiry == 1 -> expiry = 0; holder = 0; printf("clock: ticks; the lease expires\n")
		:: else -> printf("clock: ticks\n")
		fi }
	:: atomic { slow == 0 && deadline[1] > 0 -> slow = 1; printf("clock of A: misses a tick\n") }
	:: atomic { slow == 0 && deadline[2] > 0 -> slow = 2; printf("clock of A: misses a tick\n") }
	:: atomic { slow == 0 && deadline[3] > 0 -> slow = 3; printf("clock of B: misses a tick\n") }
	od
}

#ifdef WITHOUT_DEADLINE
#define ERR_IS_NIL true /* also if only a timer compares: it may run late */
#else
#define ERR_IS_NIL deadline[lease] > 0
#endif

#ifdef WITHOUT_FENCE
#define APPLIES true
#else
#define APPLIES fence[lease] >= written
#endif

#ifdef WITHOUT_REQUEST_TIME
#define DEADLINE(requested) SAFE_TTL /* from the reply */
#else
#define DEADLINE(requested) requested /* from before the request */
#endif

inline CheckErr() {
	printf("%c: Err() is nil\n", NAME(lease));
	assert(holder == lease || holder == 0) /* promise 1 */
}

inline Write() {
	if
	:: APPLIES ->
		printf("resource: applies the write of %c\n", NAME(lease));
		assert(fence[lease] >= written); /* promise 2 */
		written = fence[lease]
	:: else
	fi
}

inline End() { reply[lease] = 0; fence[lease] = 0; deadline[lease] = 0; renewed[lease] = 0 }

inline Release() {
	End();
#ifdef WITHOUT_ATOMIC_RELEASE
	if
	:: holder == lease -> release[lease] = true; printf("%c: GET returns its token, sends DEL\n", NAME(lease))
	:: else
	fi
#else
	release[lease] = true;
	printf("%c: sends Release\n", NAME(lease))
#endif
}

/* Hold checks and writes once, and renews A's first lease once, in any order. */
inline Hold() {
	do
	:: atomic { !checked && ERR_IS_NIL -> checked = true; CheckErr() }
	:: atomic { checked && !wrote -> wrote = true; Write() }
	:: atomic { lease == 1 && !renews -> renews = true; extend[lease] = true; renewed[lease] = SAFE_TTL; reply[lease] = expected;
		printf("%c: sends Extend\n", NAME(lease)) }
	:: atomic { reply[lease] == granted -> reply[lease] = 0; deadline[lease] = DEADLINE(renewed[lease]); renewed[lease] = 0;
		printf("%c: has renewed the lease\n", NAME(lease)) }
	:: break
	od
}

active [2] proctype Client() {
	byte lease = (_pid == 4 -> 1 : 3);
	bool checked, wrote, renews;
again:	atomic {
		holder == 0 -> /* the wait for the key; promise 3 */
		tryLock[lease] = true; deadline[lease] = SAFE_TTL; reply[lease] = expected;
		printf("%c: sends TryLock\n", NAME(lease)) };
	if
	:: atomic { reply[lease] == granted -> reply[lease] = 0; deadline[lease] = DEADLINE(deadline[lease]);
			printf("%c: has the lease\n", NAME(lease)) };
#ifdef WITHOUT_EXPIRY
		if
		:: extend[lease] = true; printf("%c: sends EXPIRE\n", NAME(lease))
		:: atomic { printf("%c: crashes\n", NAME(lease)); End(); goto done }
		fi;
#endif
		Hold();
		if
		:: atomic { Release() }
		:: atomic { printf("%c: crashes\n", NAME(lease)); End(); goto done }
		fi
	:: atomic { reply[lease] == refused -> End() }
	:: atomic { printf("%c: has no reply\n", NAME(lease)); Release() } /* the outcome is unknown */
	fi;
	if
	:: atomic { lease == 1 -> lease = 2; checked = false; wrote = false; renews = false; goto again }
	:: lease != 1
	fi;
done:	skip
}
