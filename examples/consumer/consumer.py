# Counts what happens to orders, each once, in SQLite: redis://host:6379/0 STREAM NAME FILE. It ends at the first error;
# start it again with the same NAME and FILE. It needs redis-py (pip install redis).
import json
import sqlite3
import sys

import redis

GROUP = "counter"
url, stream, name, path = sys.argv[1:]
rdb = redis.Redis.from_url(url, decode_responses=True, protocol=2)
db = sqlite3.connect(path)
db.executescript(
    """
    PRAGMA synchronous = FULL;
    CREATE TABLE IF NOT EXISTS transitions (order_id TEXT, kind TEXT, PRIMARY KEY (order_id, kind));
    CREATE TABLE IF NOT EXISTS orders (order_id TEXT PRIMARY KEY, coupon_id TEXT, user_id TEXT, number INT, state TEXT);
    """
)


def apply(body):
    """Commits an event. It may be repeated, and claimed may come after what is final: used, returned, expired."""
    event = json.loads(body)
    if event["v"] != 1:
        raise ValueError(f"an event of version {event['v']}")
    kind = event["kind"]
    with db:  # one transaction
        for order in event["orders"]:  # id, coupon, user, number
            db.execute("INSERT OR IGNORE INTO transitions VALUES (?, ?)", (order[0], kind))
            db.execute(
                "INSERT INTO orders VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (order_id) DO UPDATE SET state = excluded.state WHERE state = 'claimed'",
                (*order, kind),
            )


def handle(entries):
    for entry, fields in entries:
        if fields:  # otherwise the entry was trimmed: read the tables
            apply(fields["body"])
        rdb.xack(stream, GROUP, entry)  # after the commit
    if entries:
        count = "SELECT (SELECT COUNT(*) FROM transitions), (SELECT COUNT(*) FROM orders)"
        print("%d transitions of %d orders" % db.execute(count).fetchone(), flush=True)
    return len(entries)


try:
    rdb.xgroup_create(stream, GROUP, id="0", mkstream=True)
except redis.ResponseError as error:
    if not str(error).startswith("BUSYGROUP"):
        raise

own = "0"  # own entries that were not acknowledged, then new ones
while True:
    read = rdb.xreadgroup(GROUP, name, {stream: own}, count=100, block=1000)
    if not sum(handle(entries) for _, entries in read):
        own = ">"  # after those of a consumer that has died
        handle(rdb.xautoclaim(stream, GROUP, name, min_idle_time=60_000, start_id="0", count=100)[1])
