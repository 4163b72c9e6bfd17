// The voucher of limit 1 of a Vendure that serves, by k6: fifty guests pay at one moment.
//   bin/k6 run -e BASE_URL=http://127.0.0.1:3000 examples/shops/vendure/k6.js
// Vendure is served as shop.yml says, with a database in which shop.js seed was run before. 3.6.1 fails, 3.7.3 passes.
import http from 'k6/http';
import exec from 'k6/execution';
import { fail, sleep } from 'k6';
import { promises } from '../../../loadtest/k6/lib/promises.js';

const base = __ENV.BASE_URL || 'http://127.0.0.1:3000';
const headers = { 'Content-Type': 'application/json' };
const lead = Number(__ENV.LEAD_MS || 30000); // until all have filled their baskets

// query sends GraphQL with the cookies of this virtual user, and returns the data.
function query(api, text) {
  const res = http.post(`${base}/${api}`, JSON.stringify({ query: text }), { headers });
  return res.json('data') ?? fail(`${text}: ${res.status} ${res.body}`);
}

// GraphQL replies 200 to everything, and only code can count users: so order and totals are functions.
const sale = promises({
  base,
  stock: 1,
  claim: {
    url: '/shop-api', headers,
    body: JSON.stringify({
      query: `mutation { addPaymentToOrder(input: {method: "dummy", metadata: {}}) {
        ... on Order { code couponCodes } ... on ErrorResult { errorCode } } }`,
    }),
  },
  reply: {
    accepted: { pointer: '/data/addPaymentToOrder/couponCodes/0' },
    refused: { pointer: '/data/addPaymentToOrder/errorCode' },
    order: { pointer: '/data/addPaymentToOrder/code' },
  },
  order: ({ order }) => (query('shop-api', `{ orderByCode(code: "${order}") { code } }`).orderByCode ? 200 : 404),
  totals: () => {
    query('admin-api', 'mutation { login(username: "superadmin", password: "superadmin") { __typename } }');
    const { orders } = query('admin-api',
      '{ orders(options: {take: 1000}) { items { orderPlacedAt couponCodes customer { id } } } }');
    const sold = orders.items.filter((o) => o.orderPlacedAt && o.couponCodes.includes('LIMITED'));
    return { orders: sold.length, users: new Set(sold.map((o) => o.customer.id)).size };
  },
});

export const options = {
  scenarios: { burst: { executor: 'per-vu-iterations', vus: 50, iterations: 1 } },
  thresholds: sale.thresholds,
};

export const setup = () => Date.now() + lead;

export default function claim(moment) {
  const name = exec.vu.idInTest;
  query('shop-api', `mutation {
    addItemToOrder(productVariantId: 1, quantity: 1) { __typename }
    setCustomerForOrder(input: {
      firstName: "User", lastName: "${name}", emailAddress: "user${name}@example.com"
    }) { __typename }
    setOrderShippingAddress(input: {streetLine1: "Street 1", countryCode: "CH"}) { __typename }
    setOrderShippingMethod(shippingMethodId: [1]) { __typename }
  }`);
  const steps = query('shop-api', `mutation {
    applyCouponCode(couponCode: "LIMITED") { __typename }
    transitionOrderToState(state: "ArrangingPayment") { __typename }
  }`);
  if (Object.values(steps).some((step) => step.__typename !== 'Order')) return; // refused before it pays
  if (Date.now() > moment) fail('not ready at the common moment: set LEAD_MS');
  sleep((moment - Date.now()) / 1000);
  sale.claim({});
}

export const teardown = () => sale.count({});
