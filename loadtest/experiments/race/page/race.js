// A race as the server sends it, and one side of it as the pictures need it.

import { commitOf } from './statements.js';

// verdictOf returns what a claim was told: other is a refusal without a look of its
// own, and refused is no verdict of the sale.
export function verdictOf(claim) {
  if (claim.answered < 0) return 'in_flight';
  if (claim.status === 201) return 'accepted';
  const known = ['already_claimed', 'sold_out', 'claim_in_progress'].find(code => code === claim.code);
  return known ?? (claim.status === 409 ? 'other' : 'refused');
}

// Side is one side of a race. add takes what a running race sends.
export class Side {
  claims = new Map();
  sections = [];
  samples = [];
  #derived = null;

  constructor(race, index) {
    const side = race.sides[index];
    this.race = race.id;
    this.letter = letters[index];
    this.workload = side.workload ?? race.workload;
    this.settings = side.settings ?? side;
    this.environment = race.environment;
    this.conclude(side);
    this.add(side);
  }

  add({ claims, sections, samples }) {
    for (const claim of claims ?? []) this.claims.set(claim.n, claim);
    for (const s of sections ?? []) s.steps ??= [];
    this.sections.push(...sections ?? []);
    this.samples.push(...samples ?? []);
    this.#derived = null;
  }

  // conclude sets what is known when the database has been audited.
  conclude({ coupon, struck, audit, counts, promises }) {
    Object.assign(this, { coupon, struck, audit, counts, promises: promises ?? [] });
  }

  // outcome is the verdict on the whole side: the worst of its promises'.
  get outcome() { return ['wrong', 'lucky', 'broke', 'held', 'void'].find(v => this.promises.some(p => p.verdict === v)) ?? 'open'; }

  // ended tells whether the audit has been made.
  get ended() { return this.promises.length > 0; }

  // expected returns the number of orders that this workload must end with, at most.
  get expected() {
    const { users, claims_per_user: each, per_user: limit, stock } = this.workload;
    return Math.min(users * Math.min(each, limit), stock);
  }

  // least is the number of orders at least: a claim that the lock of its user refuses is
  // not repeated.
  get least() {
    const { lock, lock_scope: scope } = this.settings;
    return lock !== 'none' && scope === 'user' ? Math.min(this.workload.users, this.workload.stock) : this.expected;
  }

  // derived returns what the pictures show, computed once for the present data.
  get derived() { return this.#derived ??= derive(this); }

  // toJSON returns the side as a race holds it.
  toJSON() {
    const { settings, workload, coupon, struck, samples, sections, audit, counts, promises } = this;
    return { settings, workload, coupon, struck, claims: [...this.claims.values()], sections, samples, audit, counts, promises };
  }
}

export const letters = 'ABCD';

function derive(side) {
  const claims = [...side.claims.values()];
  const made = ordersOf(side, claims);
  const wrong = new Set(made.filter(o => o.duplicate || o.oversold).map(o => o.claim.n));
  const kindOf = claim => wrong.has(claim.n) ? 'wrong' : verdictOf(claim);
  const keys = byKey(side.sections);
  const moments = [...claims.map(c => Math.max(c.sent, c.answered)), ...side.sections.map(s => s.released)];
  return {
    end: moments.reduce((latest, t) => Math.max(latest, t), 0), // the database is read once more after it
    answered: claims.reduce((latest, c) => Math.max(latest, c.answered), 0),
    made, wrong,
    lanes: lanes(claims, side.settings.instances, kindOf),
    keys,
    open: depths(side.sections.map(s => [s.granted, s.released])),
    deepest: keys.reduce((most, key) => Math.max(most, key.deepest), 0),
    // at returns the figures of a moment.
    at: moment => figures(claims, made, kindOf, moment),
    verdicts: count(claims.map(kindOf)),
  };
}

// ordersOf returns the acknowledged orders as they were committed, or answered
// where the commit is not known. An order beyond those that a user may have is a
// duplicate, and one that comes when the stock is gone is oversold.
function ordersOf(side, claims) {
  const commits = new Map(side.sections.map(s => [Number(s.claim), commitOf(s)?.end]));
  const made = claims.filter(c => c.status === 201).map(claim => ({ claim, t: commits.get(claim.n) ?? claim.answered }));
  const held = {};
  return made.sort((a, b) => a.t - b.t).map((o, i) => {
    const n = held[o.claim.user] = (held[o.claim.user] ?? 0) + 1;
    return { ...o, duplicate: n > side.workload.per_user, oversold: i >= side.workload.stock };
  });
}

function figures(claims, made, kindOf, moment) {
  const orders = made.filter(o => o.t <= moment);
  return {
    sent: claims.filter(c => c.sent <= moment).length,
    orders: orders.length,
    users: new Set(orders.map(o => o.claim.user)).size,
    duplicates: orders.filter(o => o.duplicate).length,
    oversold: orders.filter(o => o.oversold).length,
    verdicts: count(claims.filter(c => c.sent <= moment).map(c => c.answered > moment ? 'in_flight' : kindOf(c))),
  };
}

function count(names) {
  const counts = {};
  for (const name of names) counts[name] = (counts[name] ?? 0) + 1;
  return counts;
}

// lanes returns the claims of each instance, the first answered first. Those
// that no instance has answered are in the last lane, which has no name.
function lanes(claims, instances, kindOf) {
  const byInstance = Map.groupBy(claims, c => c.instance);
  for (const name of 'abcdefgh'.slice(0, instances)) if (!byInstance.has(name)) byInstance.set(name, []);
  const order = ([a], [b]) => (a === '') - (b === '') || a.localeCompare(b);
  return [...byInstance].sort(order).map(([instance, own]) => ({
    instance,
    items: own.map(c => ({ claim: c, verdict: kindOf(c), from: c.sent, to: c.answered < 0 ? Infinity : c.answered }))
      .sort((a, b) => a.to - b.to || a.claim.n - b.claim.n),
  }));
}

// byKey returns the critical sections of each key, those keys first whose
// sections overlap longest.
function byKey(sections) {
  const keys = [...Map.groupBy(sections, s => s.key)].map(([key, own]) => keyOf(key, own));
  return keys.sort((a, b) => b.overlapped - a.overlapped || b.items.length - a.items.length || a.items[0].granted - b.items[0].granted);
}

function keyOf(key, sections) {
  const items = [...sections].sort((a, b) => a.granted - b.granted || a.released - b.released);
  const intervals = items.map(s => [s.granted, s.released]);
  const overlaps = overlapsOf(intervals);
  return {
    key, items, overlaps, rows: stack(items), steps: depths(intervals),
    overlapped: overlaps.reduce((sum, o) => sum + o.to - o.from, 0),
    deepest: overlaps.reduce((most, o) => Math.max(most, o.depth), items.length ? 1 : 0),
  };
}

// stack gives each section the first row that is free when it begins, and
// returns the number of rows.
function stack(items) {
  const free = [];
  for (const item of items) {
    const row = free.findIndex(t => t <= item.granted);
    item.row = row < 0 ? free.length : row;
    free[item.row] = item.released;
  }
  return free.length;
}

// depths returns how many intervals are open from each moment on. An interval
// that ends when another begins does not overlap it.
export function depths(intervals) {
  const changes = intervals.filter(([from, to]) => to > from).flatMap(([from, to]) => [[from, 1], [to, -1]]);
  changes.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const steps = [];
  let depth = 0;
  for (const [t, change] of changes) {
    depth += change;
    if (steps.at(-1)?.t === t) steps.at(-1).depth = depth;
    else steps.push({ t, depth });
  }
  return steps;
}

// overlapsOf returns the times at which at least two intervals are open, with
// the greatest number of them.
export function overlapsOf(intervals) {
  const overlaps = [];
  let current = null;
  for (const { t, depth } of depths(intervals)) {
    if (depth > 1) {
      current ??= { from: t, to: t, depth };
      current.depth = Math.max(current.depth, depth);
    } else if (current) {
      overlaps.push({ ...current, to: t });
      current = null;
    }
  }
  return overlaps;
}
