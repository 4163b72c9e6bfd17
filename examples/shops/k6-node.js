// bin/k6 run examples/shops/k6-node.js fails, because the shop in Node sells too much and twice.
import http from 'k6/http';
import exec from 'k6/execution';
import { promises } from '../../loadtest/k6/lib/promises.js';

const base = __ENV.BASE_URL || 'http://127.0.0.1:8080';
const sale = promises({
  base,
  stock: 20,
  claim: { method: 'POST', url: '/claim?item={{coupon}}&user={{user}}' },
  reply: {
    accepted: { pointer: '/code', matches: '^0$' },
    refused: { pointer: '/code', matches: '^[12]$' },
    order: { pointer: '/data/order' },
  },
  order: { url: '/order?id={{order}}' },
  totals: { url: '/totals?item={{coupon}}', orders: '/orders', users: '/users' },
});

export const options = {
  scenarios: { burst: { executor: 'per-vu-iterations', vus: 200, iterations: 1 } },
  thresholds: sale.thresholds,
};

export const setup = () => http.post(`${base}/restart?item=1&stock=20`).status;

export default () => sale.claim({ coupon: '1', user: String(exec.vu.idInTest % 50) });

export const teardown = () => sale.count({ coupon: '1' });
