// What has become of a side, in words: the harm first. Until its end, and at any
// moment that is played, it is what has happened by then.
import { number, strings } from './strings.js';

const harmOf = ({ orders, users, duplicates, oversold, missing = 0, unsold = 0 }, { workload }) => {
  const { headline } = strings;
  const harm = workload.per_user > 1 ? headline.beyond(number(workload.per_user)) : headline.duplicates;
  if (duplicates > 0) return harm(number(duplicates), number(users), number(workload.users));
  if (oversold > 0) return headline.oversold(number(oversold), number(workload.stock));
  if (missing + unsold > 0) return headline.missing(number(missing), number(unsold));
  return strings.orders(number(orders));
};

// headlineOf returns the text of the headline, what to compare it with, and the
// outcome that it shows.
export function headlineOf(side, cursor) {
  const { headline } = strings;
  if (side.claims.size === 0) return { big: '', small: strings.expectedOrders(number(side.expected)), outcome: 'open' };
  if (!side.ended || cursor !== null) {
    const now = side.derived.at(cursor ?? Infinity);
    return { big: harmOf(now, side), small: headline.soFar(strings.orders(number(now.orders)), number(now.sent)), outcome: now.duplicates + now.oversold > 0 ? 'broke' : 'open' };
  }
  const { counts, expected, least, outcome } = side;
  const figures = { orders: counts.orders, users: counts.distinct_users, duplicates: counts.duplicates, oversold: counts.oversold,
    missing: counts.acked_missing, unsold: counts.undersold + (side.struck ? 0 : counts.unsold) };
  if (side.struck && counts.unsold > 0 && figures.unsold === 0) return { big: harmOf(figures, side), small: headline.failed(number(counts.unsold)), outcome };
  if (outcome === 'void') return { big: harmOf(figures, side), small: strings.judged.void, outcome: 'open' };
  const right = counts.orders >= least && counts.orders <= expected ? headline.right : headline.instead(number(counts.orders), number(expected));
  return { big: harmOf(figures, side), small: outcome === 'lucky' ? `${right}${headline.lucky}` : right, outcome };
}

// promisesOf returns the three promises: {id, name, said, state}.
export function promisesOf(side, cursor) {
  const limit = side.workload.per_user;
  return Object.entries(strings.promises).map(([id, [text, harm]]) => {
    const name = id === 'one_each' && limit > 1 ? strings.atMost(number(limit)) : text;
    const promise = side.promises.find(p => p.id === id);
    if (promise && cursor === null) {
      const text = strings.judged[promise.verdict];
      return { id, name, state: promise.verdict, said: promise.number > 0 ? strings.with(text, harm(number(promise.number))) : text };
    }
    const now = side.claims.size > 0 ? side.derived.at(cursor ?? Infinity) : {};
    const n = { stock: now.oversold, one_each: now.duplicates }[id] ?? 0;
    return { id, name, state: n > 0 ? 'broke' : 'open', said: n > 0 ? harm(number(n)) : side.claims.size > 0 ? strings.notYet : strings.open_ };
  });
}
