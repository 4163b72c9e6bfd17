// What the statements of a claim's transaction say: what it read, and when it
// became visible.

const kinds = [
  ['look', /^\s*SELECT .*\bcoupon_orders\b/is], ['read', /^\s*SELECT .*\bstock\b/is], ['update', /^\s*UPDATE/i],
  ['insert', /^\s*INSERT/i], ['commit', /^\s*COMMIT/i], ['rollback', /^\s*ROLLBACK/i],
];

// statementsOf returns the statements of a section that are drawn, with their kind.
export const statementsOf = section => (section?.steps ?? []).map(step => ({ ...step, kind: kinds.find(([, sql]) => sql.test(step.sql))?.[0] }))
  .filter(step => step.kind);

// find returns the last statement of a kind in a section: an attempt that was
// repeated decides nothing.
const last = (section, kind) => statementsOf(section).findLast(s => s.kind === kind && !s.error);

// counted returns how many orders a look has counted, or undefined if it looked for one.
export const counted = look => look && /\bCOUNT\(/i.test(look.sql) ? Number(look.result) : undefined;

// commitOf returns the COMMIT of a section, after which its order is visible.
export const commitOf = section => last(section, 'commit');

// incidentOf returns the clearest example of what the side has shown: {kind, rows,
// first, second}. first and second are claims, rows those that are drawn. It
// returns null if the instances have reported no statements.
export function incidentOf(side) {
  const claims = [...side.claims.values()];
  const section = new Map(side.sections.filter(s => s.claim !== '').map(s => [Number(s.claim), s]));
  const tell = (kind, first, second) => ({ kind, first, second, a: section.get(first.n), b: second && section.get(second.n), section });
  const made = side.derived.made.map(o => ({ ...o, section: section.get(o.claim.n) })).filter(o => commitOf(o.section));
  const kinds = [beyond, oversold, refusedByIndex, seen, refusedByLock, turns];
  for (const find of kinds) {
    const found = clearest(find({ claims, made, section, tell, side }));
    if (found) return found;
  }
  return null;
}

// An order beyond those of its user looked before one of those was committed. It is
// clear where that commit is well between the look and the insert.
function beyond({ made, tell, side }) {
  return [...Map.groupBy(made, o => o.claim.user).values()].flatMap(own => own.filter(o => o.duplicate).flatMap(o =>
    own.slice(0, side.workload.per_user).flatMap(first => {
      const [look, insert, commit] = [last(o.section, 'look'), last(o.section, 'insert'), commitOf(first.section)];
      if (!insert || !(look?.begin <= commit.end)) return [];
      const clarity = Math.min(commit.end - look.end, insert.begin - commit.end) / (commitOf(o.section).end - first.section.granted);
      return [{ clarity, ...tell(counted(look) === undefined ? 'duplicate' : 'beyond', first.claim, o.claim) }];
    })));
}

// An oversold unit was read before another claim had committed the same.
function oversold({ made, tell }) {
  const found = made.filter(o => o.oversold).flatMap(o => {
    const [read, update] = ['read', 'update'].map(kind => last(o.section, kind));
    const first = read && update && made.findLast(x => x !== o && commitOf(x.section).end > read.begin && commitOf(x.section).end <= update.end);
    return first ? [{ stock: Number(read.result), ...tell('oversold', first.claim, o.claim) }] : [];
  });
  const least = Math.min(...found.map(f => f.stock)); // the last units are the clearest
  return found.filter(f => f.stock === least);
}

function refusedByIndex({ claims, made, section, tell, side }) {
  return pairs(side, claims, made, c => statementsOf(section.get(c.n)).some(s => s.kind === 'insert' && s.error), (a, b) => tell('index', a, b));
}

// A claim that looked after the commit found the order. It has entered after the
// commit, or it was inside before and late only by chance.
function seen({ claims, made, section, tell, side }) {
  const found = look => counted(look) === undefined ? look?.result : counted(look) >= side.workload.per_user;
  return pairs(side, claims, made, c => found(last(section.get(c.n), 'look')), (a, b) => tell('seen', a, b))
    .filter(({ a, b }) => last(b, 'look').begin >= commitOf(a).begin)
    .map(i => i.b.granted < commitOf(i.a).end ? { ...i, kind: 'late' } : i);
}

// A claim that waited for the lock read what the holder before it had left.
function turns({ side, tell }) {
  const before = (s, next) => s.released <= next.granted && next.wanted < s.released && commitOf(s);
  return side.derived.keys.flatMap(({ items }) => items.slice(1).flatMap((next, i) => before(items[i], next) && last(next, 'read')
    ? [tell('turns', ...[items[i], next].map(s => side.claims.get(Number(s.claim))))] : []));
}

function refusedByLock({ claims, made, tell, side }) {
  return pairs(side, claims, made, c => c.code === 'claim_in_progress', (a, b) => tell('locked', a, b))
    .filter(({ a, second }) => second.sent < a.released && second.answered > a.granted);
}

// numberOf returns which of its user's orders a claim asks for: the unique key compares
// it, and where there is none the service counts.
export function numberOf({ n }, { workload: { claims_per_user: each, per_user: limit }, settings: { guards } }) {
  return guards.includes('unique') ? 1 + n % each % limit : 1;
}

function pairs(side, claims, made, isSecond, tell) {
  const owner = c => `${c.user}/${numberOf(c, side)}`;
  const first = new Map(made.toReversed().map(o => [owner(o.claim), o.claim]));
  return claims.filter(c => first.has(owner(c)) && first.get(owner(c)) !== c && isSecond(c)).map(c => tell(first.get(owner(c)), c));
}

// clearest returns the incident of the greatest clarity, or that which takes least
// time and so is drawn largest.
function clearest(incidents) {
  const length = ({ a, b, second }) => Math.max(a.released, b?.released ?? second.answered) - Math.min(a.granted, b?.granted ?? second.sent);
  const better = (x, y) => (y.clarity ?? 0) - (x.clarity ?? 0) || length(x) - length(y);
  return incidents.sort(better)[0] ?? null;
}

// rowsOf returns the claims to draw for an incident: its two, and those of the same
// key that were inside meanwhile.
export function rowsOf(side, { first, second, a, b }, most) {
  const [from, to] = [a.granted, Math.max(a.released, b?.released ?? 0)];
  const others = side.sections.filter(s => s.key === a.key && s !== a && s !== b && s.claim !== '' && s.granted < to && s.released > from)
    .sort((x, y) => x.granted - y.granted).map(s => side.claims.get(Number(s.claim)));
  const chosen = [first, second, ...others.filter(c => c && c !== second)].filter(Boolean).slice(0, most);
  const sections = new Map(side.sections.map(s => [Number(s.claim), s]));
  const rows = chosen.map(claim => ({ claim, section: sections.get(claim.n) }));
  const begin = ({ claim, section }) => section?.granted ?? claim.sent;
  return [...rows.slice(0, 2).sort((x, y) => begin(x) - begin(y)), ...rows.slice(2)];
}

// momentsOf returns the moments that the sentence about an incident names.
export function momentsOf({ a, b }) {
  const at = (section, kind) => last(section, kind)?.begin;
  return {
    granted: a.granted, released: a.released, committed: commitOf(a)?.end, looked: b && at(b, 'look'), found: b && last(b, 'look')?.result,
    read: b && at(b, 'read'), stock: b && last(b, 'read')?.result, updated: b && last(b, 'update')?.end,
    inserted: b && (statementsOf(b).findLast(s => s.kind === 'insert'))?.begin, entered: b?.granted,
  };
}
