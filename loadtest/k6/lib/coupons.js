// The coupons that are claimed: those that COUPONS lists (comma-separated), or new
// ones. loadtest sets COUPONS and audits the database itself. New coupons are
// created and audited here, by the service's API.
import http from 'k6/http';
import { Counter } from 'k6/metrics';
import { adminToken } from './identity.js';

export const base = (__ENV.BASE_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');

export const given = __ENV.COUPONS || __ENV.SHOP;

const broken = new Counter('broken'); // tags: promise

const headers = () => ({ Authorization: `Bearer ${adminToken()}`, 'Content-Type': 'application/json' });

export function coupons(rounds, stock) {
  if (given) return (__ENV.COUPONS || '').split(','); // another shop may name none
  return Array.from({ length: rounds }, (_, i) => create(`burst ${i + 1}`, stock));
}

function create(name, stock) {
  const hours = (n) => new Date(Date.now() + n * 3600e3).toISOString();
  const body = JSON.stringify({ name, begin_time: hours(-1), end_time: hours(1), stock });
  const res = http.post(`${base}/coupons`, body, { headers: headers() });
  if (res.status !== 201) throw new Error(`create a coupon: ${res.status} ${res.body || res.error}`);
  return res.json('id');
}

// audit checks the promises after users have claimed each coupon. A unit that left
// the stock without an order breaks I3, and so does a unit still in stock although
// a user who claimed it has no order.
export function audit(ids, users) {
  if (given) return;
  for (const id of ids) {
    const res = http.get(`${base}/coupons/${id}/audit`, { headers: headers() });
    if (res.status !== 200) throw new Error(`audit coupon ${id}: ${res.status} ${res.body || res.error}`);
    const a = res.json();
    const unsold = Math.max(0, Math.min(a.stock, users - a.distinct_users));
    broken.add(a.oversold, { promise: 'I1' });
    broken.add(a.duplicates, { promise: 'I2' });
    broken.add(a.undersold + unsold, { promise: 'I3' });
  }
}
