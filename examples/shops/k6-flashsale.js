// bin/k6 run -e BASE_URL=http://host:8080 -e JWT_SECRET=… examples/shops/k6-flashsale.js passes: the service of this
// repository keeps its promises. Start it with USER_RATE=0.
import exec from 'k6/execution';
import { coupons } from '../../loadtest/k6/lib/coupons.js';
import { adminToken, userToken } from '../../loadtest/k6/lib/identity.js';
import { promises } from '../../loadtest/k6/lib/promises.js';
import { flashsale } from '../../loadtest/k6/lib/shop.js';

const sale = promises({
  ...flashsale,
  base: __ENV.BASE_URL || 'http://127.0.0.1:8080',
  stock: 20,
  order: { url: '/orders/{{order}}', headers: { Authorization: 'Bearer {{token}}' } },
  totals: {
    url: '/coupons/{{coupon}}/audit', headers: { Authorization: 'Bearer {{admin}}' },
    orders: '/orders', users: '/distinct_users', most_per_user: '/most_per_user',
  },
});

export const options = {
  scenarios: { burst: { executor: 'per-vu-iterations', vus: 200, iterations: 1 } },
  thresholds: sale.thresholds,
};

export const setup = () => coupons(1, 20)[0];

export default function claim(coupon) {
  const user = 1 + exec.vu.idInTest % 50;
  sale.claim({ coupon, user: String(user), number: '1', token: userToken(user) });
}

export const teardown = (coupon) => sale.count({ coupon, admin: adminToken() });
