// 666 page views at the same moment, on the route of VERSION (v0 to v4), by METHOD
// (POST or GET). Each virtual user opens its connection before.
import http from 'k6/http';
import { sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';

const base = (__ENV.BASE_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');
const path = `${base}/${__ENV.VERSION || 'v1'}/pview`;
const lead = Number(__ENV.LEAD_MS || 1500); // from setup to the common moment
const vus = Number(__ENV.VIEWS || 666);

const views = new Counter('views'); // tags: status, instance
const view = new Trend('view', true); // until the reply; only of status 200; tags: instance, count, wait
const count = new Trend('count'); // what the views were told: the highest is the counter's value
const wait = new Trend('lock_wait', true);

export const options = {
  scenarios: { burst: { executor: 'per-vu-iterations', vus, iterations: 1, maxDuration: '5m' } },
  summaryTrendStats: ['min', 'med', 'p(99)', 'max'],
  thresholds: { 'views{status:200}': [`count==${vus}`], 'views{instance:a}': ['count>0'], 'views{instance:b}': ['count>0'] },
};

export const setup = () => ({ moment: Date.now() + lead });

export default function burst({ moment }) {
  http.get(`${base}/livez`);
  sleep(Math.max(0, moment - Date.now()) / 1000);
  const sent = Date.now();
  const res = http.request(__ENV.METHOD || 'POST', path, null, { timeout: '120s' });
  const took = Date.now() - sent;
  const tags = { status: String(res.status), instance: res.headers['X-Instance'] || 'none' };
  views.add(1, tags);
  if (res.status !== 200) return;
  const reply = res.json();
  view.add(took, { ...tags, count: String(reply.pview), wait: String(reply.wait_ms) });
  count.add(reply.pview);
  wait.add(reply.wait_ms);
}
