// A burst of simultaneous claims. Each virtual user opens its connection, waits
// for the common moment and claims once. k6 has no synchronizing timer, so setup
// names the moment, and start_skew measures how late each claim is sent. The
// script runs on k6 1.8 and 2. The file SHOP, which loadtest writes, describes
// another shop than this repository's service.
import http from 'k6/http';
import exec from 'k6/execution';
import { sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';
import { userToken } from './identity.js';
import { flashsale, read, send } from './shop.js';
import { audit, base, coupons, given } from './coupons.js';

const rounds = Number(__ENV.ROUNDS || 1);
const lead = Number(__ENV.LEAD_MS || 1500); // from setup to the first burst
const shop = __ENV.SHOP ? JSON.parse(open(__ENV.SHOP)) : flashsale;
const firstUser = Number(__ENV.FIRST_USER || 1);
const period = Number(__ENV.PERIOD_MS || 1000); // from burst to burst
const before = Number(__ENV.BEFORE_MS || 60); // from a return to the end of its hold
const limit = Number(__ENV.LIMIT || 1); // numbers that a user may claim

const claims = new Counter('claims'); // tags: verdict, detail, instance, user, order
const wait = new Trend('claim_wait', true); // the same tags
const skew = new Trend('start_skew', true);

http.setResponseCallback(http.expectedStatuses(200, 201, 409)); // a refused claim is no failure

// With retry, a claim that has had no reply is repeated, as clients must: with the same number.
export function burst({ users, each, stock, retry }) {
  const vus = users * each;
  const options = {
    scenarios: { burst: { executor: 'per-vu-iterations', vus, iterations: rounds, maxDuration: '5m' } },
    systemTags: ['name', 'status', 'error'],
    summaryTrendStats: ['min', 'med', 'p(99)', 'max'],
    thresholds: {
      claims: [`count==${vus * rounds}`],
      'claims{verdict:unknown}': ['count==0'],
      'http_req_duration{name:claim}': ['max<60000'],
      'http_req_failed{name:claim}': ['rate==0'], // a warm-up decides nothing
      'broken{promise:I1}': ['count==0'],
      'broken{promise:I2}': ['count==0'],
      'broken{promise:I3}': ['count==0'],
    },
  };
  for (const code of ['accepted', 'sold_out', 'already_claimed', 'limit_reached', 'claim_in_progress']) {
    options.thresholds[`claims{verdict:${code}}`] = ['count>=0']; // lists the count in the summary
  }
  return {
    options,
    setup: () => ({ coupons: coupons(rounds, stock), startAt: Date.now() + lead }),
    claim: (sale) => claim(sale, claimant(users), retry),
    giveBack: (sale) => giveBack(sale, claimant(users)),
    teardown: (sale) => audit(sale.coupons, users),
    handleSummary,
  };
}

// claimant returns the user of this virtual user, and which number of the user's it claims.
function claimant(users) {
  const vu = exec.vu.idInTest - 1;
  return { user: 1 + vu % users, number: 1 + Math.floor(vu / users) % limit };
}

function claim(sale, by, retry) {
  const values = arrive(sale, by);
  const sent = Date.now();
  let res = send(base, shop.claim, values, 'claim');
  const cut = retry && res.status === 0;
  for (let n = 0; cut && n < 100 && !decided(res); n++) {
    sleep(0.05);
    res = send(base, shop.claim, values, 'claim');
  }
  const reply = shop.reply ? read(shop.reply, res) : whole(res);
  const found = cut && reply.verdict === 'already_claimed'; // the claim whose reply was cut has made it
  record(found ? { verdict: 'accepted', order: res.json('order_id') } : reply, res, values.user,
    cut ? Date.now() - sent : res.timings.duration);
}

// whole is all of another shop's reply, for loadtest to read.
const whole = ({ status, body, error }) => ({ responseCode: String(status || error), order: body || '' });

const decided = (res) => res.status === 201 || res.status === 409 && res.json('code') !== 'claim_in_progress';

// giveBack claims with everybody else, and returns the order just before its hold is over.
function giveBack(sale, by) {
  const values = arrive(sale, by);
  const { id, expires_at } = send(base, shop.claim, values, 'hold').json();
  const moment = Date.parse(expires_at) - before;
  sleep(Math.max(0, moment - Date.now()) / 1000);
  skew.add(Date.now() - moment);
  const res = send(base, { method: 'DELETE', url: `/orders/${id}`, headers: shop.claim.headers }, values, 'claim');
  record(res.status === 200 ? { verdict: 'returned' } : read(shop.reply, res), res, values.user, res.timings.duration);
}

// arrive opens the connection, waits for the common moment, and returns what a request has.
function arrive(sale, { user, number }) {
  const round = exec.vu.iterationInScenario;
  const values = {
    coupon: sale.coupons[round], user: String(firstUser + user - 1), token: userToken(user), number: String(number),
  };
  if (shop.warm_up.url) send(base, shop.warm_up, values, 'warm-up');
  const moment = sale.startAt + round * period;
  sleep(Math.max(0, moment - Date.now()) / 1000);
  skew.add(Date.now() - moment);
  return values;
}

function record(reply, res, user, took) {
  const tags = { ...reply, instance: res.headers['X-Instance'] || 'none', user };
  claims.add(1, tags);
  wait.add(took, tags);
}

function handleSummary(data) {
  const lines = Object.entries(data.metrics)
    .filter(([name]) => /^(claims|broken)|start_skew|name:claim/.test(name))
    .map(([name, { values }]) => `  ${name.padEnd(36)} ${JSON.stringify(values)}`);
  const files = { [__ENV.SUMMARY || 'summary.json']: JSON.stringify(data, null, 2) };
  return given ? files : { ...files, stdout: `${lines.sort().join('\n')}\n` };
}
