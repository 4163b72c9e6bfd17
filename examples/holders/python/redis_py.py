# redis-py's Lock, extended by a thread every third of the lease. At the root of the repository, after make holders:
# make faults LOCK='examples/holders/python/.venv/bin/python examples/holders/python/redis_py.py' BACKEND=redis CHECK=1
import os
import sys
import threading
import time

import redis
from redis.exceptions import LockError, LockNotOwnedError, RedisError

host, port = os.environ["REDIS_ADDRS"].rsplit(":", 1)
client = redis.Redis(host=host, port=int(port))
saying = threading.Lock()  # one line at a time, and none of a hold that is over


def say(*words, unless=None):
    with saying:
        if unless is None or not unless.is_set():
            print(time.monotonic_ns() // 1000, *words, flush=True)


def write(over):
    while not over.wait(0.01):
        say("write", 0, unless=over)


def extend(lock, lease, over):
    while not over.wait(lease / 3):
        try:
            lock.reacquire()
        except LockError as error:
            say("lost", error, unless=over)
            over.set()
        except RedisError as error:  # no word about the lock: try again in a third of the lease
            print(error, file=sys.stderr)


say("ready")
for line in sys.stdin:
    command, *arguments = line.split()
    try:
        if command == "acquire":
            lease, wait = (int(milliseconds) / 1000 for milliseconds in arguments[1:])
            lock = client.lock(arguments[0], timeout=lease, blocking_timeout=wait, thread_local=False)
            if lock.acquire():
                over = threading.Event()
                say("acquired", 0)
                threading.Thread(target=write, args=(over,), daemon=True).start()
                threading.Thread(target=extend, args=(lock, lease, over), daemon=True).start()
            else:
                say("refused")
        else:
            over.set()
            lock.release()
            say("released")
    except LockNotOwnedError as error:
        say("lost", error)
    except (RedisError, OSError) as error:
        say("unknown", error)
