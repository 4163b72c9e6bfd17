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
import { audit, base, coupons } from './coupons.js';

const rounds = Number(__ENV.ROUNDS || 1);
const lead = Number(__ENV.LEAD_MS || 1500); // from setup to the first burst
const shop = __ENV.SHOP ? JSON.parse(open(__ENV.SHOP)) : flashsale;
const firstUser = Number(__ENV.FIRST_USER || 1);
const period = Number(__ENV.PERIOD_MS || 1000); // from burst to burst

const claims = new Counter('claims'); // tags: verdict, detail, instance, user, order
const wait = new Trend('claim_wait', true); // the same tags
const skew = new Trend('start_skew', true);

http.setResponseCallback(http.expectedStatuses(200, 201, 409)); // a refused claim is no failure

export function burst({ users, each, stock }) {
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
  for (const code of ['accepted', 'sold_out', 'already_claimed', 'claim_in_progress']) {
    options.thresholds[`claims{verdict:${code}}`] = ['count>=0']; // lists the count in the summary
  }
  return {
    options,
    setup: () => ({ coupons: coupons(rounds, stock), startAt: Date.now() + lead }),
    claim: (sale) => claim(sale, 1 + (exec.vu.idInTest - 1) % users),
    teardown: (sale) => audit(sale.coupons, users),
    handleSummary,
  };
}

function claim(sale, user) {
  const round = exec.vu.iterationInScenario;
  const id = String(firstUser + user - 1);
  const values = { coupon: sale.coupons[round], user: id, token: userToken(user) };
  if (shop.warm_up) send(base, shop.warm_up, values, 'warm-up');
  const moment = sale.startAt + round * period;
  sleep(Math.max(0, moment - Date.now()) / 1000);
  skew.add(Date.now() - moment);
  const res = send(base, shop.claim, values, 'claim');
  const tags = { ...read(shop.reply, res), instance: res.headers['X-Instance'] || 'none', user: id };
  claims.add(1, tags);
  wait.add(res.timings.duration, tags);
}

function handleSummary(data) {
  const lines = Object.entries(data.metrics)
    .filter(([name]) => /^(claims|broken)|start_skew|name:claim/.test(name))
    .map(([name, { values }]) => `  ${name.padEnd(36)} ${JSON.stringify(values)}`);
  const files = { [__ENV.SUMMARY || 'summary.json']: JSON.stringify(data, null, 2) };
  return __ENV.COUPONS ? files : { ...files, stdout: `${lines.sort().join('\n')}\n` };
}
