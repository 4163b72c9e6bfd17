// 666 page views at the same moment, on the route of VERSION (v1 to v4). Each
// virtual user opens its connection before.
import http from 'k6/http';
import { sleep } from 'k6';
import { Counter, Trend } from 'k6/metrics';

const base = (__ENV.BASE_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');
const path = `${base}/${__ENV.VERSION || 'v1'}/pview`;
const lead = Number(__ENV.LEAD_MS || 1500); // from setup to the common moment
const vus = Number(__ENV.VIEWS || 666);

const views = new Counter('views'); // tags: status, instance
const wait = new Trend('lock_wait', true);
const sent = new Trend('sent'); // in ms after the common moment
const answered = new Trend('answered'); // likewise

export const options = {
  scenarios: { burst: { executor: 'per-vu-iterations', vus, iterations: 1, maxDuration: '5m' } },
  summaryTrendStats: ['min', 'med', 'p(99)', 'max'],
  thresholds: { 'views{status:200}': [`count==${vus}`], 'views{instance:a}': ['count>0'], 'views{instance:b}': ['count>0'] },
};

export const setup = () => ({ moment: Date.now() + lead });

export default function view({ moment }) {
  http.get(`${base}/livez`);
  sleep(Math.max(0, moment - Date.now()) / 1000);
  sent.add(Date.now() - moment);
  const res = http.post(path, null, { timeout: '120s' });
  answered.add(Date.now() - moment);
  views.add(1, { status: String(res.status), instance: res.headers['X-Instance'] || 'none' });
  if (res.status === 200) wait.add(res.json('wait_ms'));
}

export const handleSummary = (data) => ({ [__ENV.SUMMARY || 'summary.json']: JSON.stringify(data, null, 2) });
