// redlock's `using`, which extends the lock, over five servers. At the root of the repository,
// after make holders: make faults LOCK='node examples/holders/node/redlock.mjs' BACKEND=redis5 CHECK=1
import { createInterface } from "node:readline";
import Redis from "ioredis";
import Redlock, { ResourceLockedError } from "redlock";

const clients = process.env.REDIS_ADDRS.split(",").map((address) => new Redis(`redis://${address}`));
for (const client of clients) client.on("error", (error) => console.error(error.message));

let refused = false; // a server has said that another holds
const redlock = new Redlock(clients);
redlock.on("error", (error) => {
  if (error instanceof ResourceLockedError) refused = true;
  else console.error(error.message);
});

const say = (...words) => console.log(String(process.hrtime.bigint() / 1000n), ...words);

// held is what `using` runs while the lock is held: it writes until it is told to release.
const held = (untilRelease) => async (signal) => {
  say("acquired 0");
  const writing = setInterval(() => signal.aborted || say("write 0"), 10);
  const lose = () => say("lost", signal.error.message);
  signal.addEventListener("abort", lose);
  await untilRelease;
  signal.removeEventListener("abort", lose);
  clearInterval(writing);
};

// hold answers both commands: the lock is released when untilRelease is.
async function hold(key, lease, wait, untilRelease) {
  let entered = false;
  const enter = (signal) => ((entered = true), held(untilRelease)(signal));
  refused = false;
  try {
    // A retry comes after 200 ms by the defaults, and sooner or later by their jitter.
    await redlock.using([key], lease, { retryCount: Math.ceil(wait / 200) + 2 }, enter);
    say("released");
  } catch (error) {
    say(refused && !entered ? "refused" : "unknown", error.message);
  }
}

let release;
say("ready");
for await (const line of createInterface({ input: process.stdin })) {
  const [command, key, lease, wait] = line.split(" ");
  if (command === "release" && release) release();
  else if (command === "release") say("unknown nothing is held");
  else hold(key, Number(lease), Number(wait), new Promise((resolve) => (release = resolve)));
}
process.exit();
