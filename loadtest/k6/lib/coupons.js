// What is claimed: the coupons COUPONS (comma list) that the rig has made, or
// coupons made here, which are then also audited here.
import http from 'k6/http';
import { Counter } from 'k6/metrics';
import { adminToken } from './identity.js';

export const base = (__ENV.BASE_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');

const broken = new Counter('broken'); // tags: promise

const headers = () => ({ Authorization: `Bearer ${adminToken()}`, 'Content-Type': 'application/json' });

export function coupons(rounds, stock) {
  if (__ENV.COUPONS) return __ENV.COUPONS.split(',');
  return Array.from({ length: rounds }, (_, i) => create(`burst ${i + 1}`, stock));
}

function create(name, stock) {
  const hours = (n) => new Date(Date.now() + n * 3600e3).toISOString();
  const body = JSON.stringify({ name, begin_time: hours(-1), end_time: hours(1), stock });
  const res = http.post(`${base}/coupons`, body, { headers: headers() });
  if (res.status !== 201) throw new Error(`create a coupon: ${res.status} ${res.body || res.error}`);
  return res.json('id');
}

// audit asks the service itself. The rig does not: it asks the database.
export function audit(ids, users, stock) {
  if (__ENV.COUPONS) return;
  for (const id of ids) {
    const res = http.get(`${base}/coupons/${id}/audit`, { headers: headers() });
    if (res.status !== 200) throw new Error(`audit coupon ${id}: ${res.status} ${res.body || res.error}`);
    const a = res.json();
    broken.add(Math.max(0, a.orders - stock), { promise: 'I1' });
    broken.add(a.orders - a.distinct_users, { promise: 'I2' });
    broken.add(Math.max(0, Math.min(users, stock) - a.orders), { promise: 'I3' });
  }
}
