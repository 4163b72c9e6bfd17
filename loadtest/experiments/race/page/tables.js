// The tables: the numbers of both sides, and the races of the session.
import { duration } from './axis.js';
import { element } from './dom.js';
import { nameOf } from './names.js';
import { number, strings } from './strings.js';

// numbersTable fills a table with the numbers of both sides.
export function numbersTable(table, sides) {
  const all = sides.map(numbersOf);
  const head = element('tr', {}, cell('th', strings.number), ...sides.map(s => cell('th', `${s.letter} · ${nameOf(s.settings)}`)));
  const rows = Object.keys(strings.rows).filter(name => all.some(n => n[name] !== undefined)).map(name =>
    element('tr', { 'data-number': name }, cell('th', strings.rows[name], 'row'), ...all.map(n => cell('td', n[name] ?? '–'))));
  const verdicts = Object.keys(strings.verdicts).filter(v => sides.some(s => s.derived.verdicts[v])).map(v =>
    element('tr', { 'data-verdict': v }, cell('th', strings.verdicts[v], 'row'), ...sides.map(s => cell('td', number(s.derived.verdicts[v] ?? 0)))));
  table.replaceChildren(element('thead', {}, head), element('tbody', {}, ...rows.slice(0, 1), ...verdicts, ...rows.slice(1)));
}

const cell = (tag, text, scope = 'col') => element(tag, tag === 'th' ? { scope } : {}, text);

function numbersOf({ claims, sections, derived, counts, audit, expected, ended }) {
  const wait = sections.reduce((longest, s) => Math.max(longest, s.granted - s.wanted), 0);
  return written({
    sent: claims.size, orders: counts?.orders, expected: ended ? expected : undefined, duplicates: counts?.duplicates, oversold: counts?.oversold,
    undersold: counts?.undersold, missing: counts?.missing, keys: derived.keys.length, overlaps: counts?.overlaps, deepest: derived.deepest,
    wait: duration(wait), last: duration(derived.answered), ...auditNumbers(audit),
  });
}

const auditNumbers = audit => audit ? {
  auditOrders: audit.orders, auditUsers: audit.distinct_users, auditMost: audit.most_per_user, auditStock: audit.stock,
} : {};

const written = numbers => Object.fromEntries(Object.entries(numbers).map(([name, n]) => [name, typeof n === 'number' ? number(n) : n]));

// historyTable fills a table with races. show is called with a list of two
// sides, each as [race id, index].
export function historyTable(table, races, shown, show) {
  const head = ['race', 'startedAt', 'state'].map(name => cell('th', strings[name]));
  const rows = races.map(race => element('tr', {},
    cell('td', race.id), cell('td', new Date(race.started).toLocaleTimeString(document.documentElement.lang)), cell('td', strings.states[race.state]),
    ...race.sides.map((side, i) => sideCell(race, side, i, shown, show)),
    element('td', {}, button(strings.both, () => show([[race.id, 0], [race.id, 1]]), false))));
  table.replaceChildren(element('thead', {}, element('tr', {}, ...head, cell('th', 'A'), cell('th', 'B'), cell('th', strings.both))), element('tbody', {}, ...rows));
}

function sideCell(race, side, i, shown, show) {
  const places = [strings.left, strings.right_].map((place, p) => {
    const chosen = shown[p]?.[0] === race.id && shown[p]?.[1] === i;
    const b = button(place, () => show(shown.with(p, [race.id, i])), chosen);
    b.setAttribute('aria-label', `${strings.race} ${race.id}: ${strings.sideAs('AB'[i], place)}`);
    return b;
  });
  const orders = side.counts ? ` · ${strings.orders(number(side.counts.orders))}` : '';
  return element('td', {}, element('span', {}, nameOf(side.settings) + orders), element('span', { className: 'places' }, ...places));
}

const button = (text, onclick, pressed) => element('button', { type: 'button', onclick, ariaPressed: String(pressed) }, text);
