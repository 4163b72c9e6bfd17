// Thresholds on what a sale must not do, so that k6 run fails: oversold, duplicates, and orders that a client was told of and
// that are missing. See docs/judge.md; examples/shops/k6-node.js is an example.
import { fail, sleep } from 'k6';
import { Counter } from 'k6/metrics';
import { at, read, send } from './shop.js';

const accepted = new Counter('accepted');
const refused = new Counter('refused');
const unknown = new Counter('unknown'); // outcomes
const oversold = new Counter('oversold');
const duplicates = new Counter('duplicates');
const missing = new Counter('acknowledged_and_missing');
const uncertain = new Counter('acknowledged_and_uncertain'); // the shop did not say whether the order is there
const counted = new Counter('counted');

// promises returns what a script needs for one sale of a shop:
//   base      its URL
//   stock     how many units there are at the begin
//   claim, reply, order   as in the file of make judge; order is a request for {{order}}, which replies 404 if there is
//             none, or a function of the values that returns such a status
//   totals    a request whose reply has the numbers orders, and users or most_per_user, at these JSON pointers; or a
//             function of the values that returns them
//   after     how many seconds a client waits before it asks for its order
export function promises(shop) {
  for (const name of ['base', 'stock', 'claim', 'reply', 'order', 'totals']) {
    if (shop[name] === undefined) throw new Error(`promises: ${name} is missing: without it a promise cannot be known`);
  }
  return { thresholds, claim: (values) => claim(shop, values), count: (values) => count(shop, values) };
}

const none = ['count==0'];
const thresholds = {
  oversold: none, duplicates: none, acknowledged_and_missing: none, acknowledged_and_uncertain: none,
  accepted: ['count>0'], counted: ['count>0'], // otherwise the others prove nothing
};

// claim claims for {{user}}, and asks for the order that it is told of.
function claim(shop, values) {
  const { verdict, order } = read(shop.reply, send(shop.base, shop.claim, values, 'claim'));
  ({ accepted, unknown }[verdict] || refused).add(1);
  if (verdict !== 'accepted') return;
  sleep(shop.after || 0);
  const all = { ...values, order };
  const status = ask(shop.order, all) ?? send(shop.base, shop.order, all, 'order').status;
  if (order === '' || status === 404 || status === 410) missing.add(1);
  else if (status < 200 || status >= 300) uncertain.add(1);
}

const ask = (how, values) => (typeof how === 'function' ? how(values) : undefined);

// count counts the sale. Call it in teardown.
function count(shop, values) {
  const { orders, users, most_per_user, reply } = ask(shop.totals, values) ?? numbers(shop, values);
  const each = [orders - users, most_per_user - 1].filter((n) => !Number.isNaN(n));
  if (!(orders >= 0) || each.length === 0) fail(`totals: no numbers in ${reply}`);
  oversold.add(Math.max(0, orders - shop.stock));
  duplicates.add(Math.max(0, ...each));
  counted.add(1);
}

function numbers(shop, values) {
  const res = send(shop.base, shop.totals, values, 'totals');
  const number = (name) => Number(shop.totals[name] && res.status < 300 ? at(shop.totals[name], res.body || '') : NaN);
  return {
    orders: number('orders'), users: number('users'), most_per_user: number('most_per_user'),
    reply: `${res.status} ${res.body}`,
  };
}
