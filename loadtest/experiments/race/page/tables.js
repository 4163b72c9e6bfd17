// The tables: the numbers of the sides, and the races that are kept.
import { duration } from './axis.js';
import { element } from './dom.js';
import { nameOf } from './names.js';
import { letters } from './race.js';
import { number, strings } from './strings.js';

// numbersTable fills a table with the numbers of the sides at a moment. null is the
// end, when the database has been counted.
export function numbersTable(table, sides, moment) {
  const all = sides.map(side => numbersOf(side, moment));
  const head = element('tr', {}, cell('th', strings.number), ...sides.map(s => cell('th', `${s.letter} · ${nameOf(s.settings)}`)));
  const rows = Object.keys(strings.rows).filter(name => all.some(n => n[name] !== undefined)).map(name =>
    element('tr', { 'data-number': name }, cell('th', strings.rows[name], 'row'), ...all.map(n => cell('td', n[name] ?? '–'))));
  const counts = sides.map(s => moment === null ? s.derived.verdicts : s.derived.at(moment).verdicts);
  const verdicts = Object.keys(strings.verdicts).filter(v => sides.some(s => s.derived.verdicts[v])).map(v =>
    element('tr', { 'data-verdict': v }, cell('th', strings.verdicts[v], 'row'), ...counts.map(c => cell('td', number(c[v] ?? 0)))));
  table.replaceChildren(element('thead', {}, head), element('tbody', {}, ...rows.slice(0, 1), ...verdicts, ...rows.slice(1)));
}

const cell = (tag, text, scope = 'col') => element(tag, tag === 'th' ? { scope } : {}, text);

function numbersOf({ claims, sections, derived, counts, audit, expected, ended }, moment) {
  if (moment !== null) {
    const { sent, orders, duplicates, oversold } = derived.at(moment);
    return written({ sent, orders, expected, duplicates, oversold });
  }
  const wait = sections.reduce((longest, s) => Math.max(longest, s.granted - s.wanted), 0);
  return written({
    sent: claims.size, orders: counts?.orders, expected: ended ? expected : undefined, duplicates: counts?.duplicates, oversold: counts?.oversold,
    undersold: counts?.undersold, missing: counts?.acked_missing, keys: derived.keys.length, overlaps: counts?.overlaps, deepest: derived.deepest,
    wait: duration(wait), last: duration(derived.answered), ...auditNumbers(audit),
  });
}

const auditNumbers = audit => audit ? {
  auditOrders: audit.orders, auditUsers: audit.distinct_users, auditMost: audit.most_per_user, auditStock: audit.stock,
} : {};

const written = numbers => Object.fromEntries(Object.entries(numbers).map(([name, n]) => [name, typeof n === 'number' ? number(n) : n]));

// historyTable fills a table with races. show is called with a list of sides, each
// as [race id, index].
export function historyTable(table, races, shown, show) {
  const head = ['startedAt', 'state', 'sides', 'whole'].map(name => cell('th', strings[name]));
  const rows = races.map(race => element('tr', { 'data-race': race.id },
    cell('td', new Date(race.started).toLocaleString(document.documentElement.lang, { dateStyle: 'short', timeStyle: 'medium' })), cell('td', strings.states[race.state]),
    element('td', {}, ...race.sides.map((side, i) => sideLine(race, side, i, shown, show))),
    element('td', {}, button(strings.show, () => show(race.sides.map((_, i) => [race.id, i])), false))));
  table.replaceChildren(element('thead', {}, element('tr', {}, ...head)), element('tbody', {}, ...rows));
}

// sideLine is a side, with a button for each place where it can be shown. With
// nothing shown, its own race is beside it.
function sideLine(race, side, i, shown, show) {
  const sides = shown.length > 0 ? shown : race.sides.map((_, j) => [race.id, j]);
  const places = sides.map(([id, j], place) => {
    const chosen = shown.length > 0 && id === race.id && j === i;
    const b = button(letters[place], () => show(sides.with(place, [race.id, i])), chosen);
    b.setAttribute('aria-label', strings.sideAs(nameOf(side.settings), letters[place]));
    return b;
  });
  const orders = side.counts ? ` · ${strings.orders(number(side.counts.orders))}` : '';
  return element('div', { className: 'places' }, element('span', {}, `${letters[i]} ${nameOf(side.settings)}${orders}`), ...places);
}

const button = (text, onclick, pressed) => element('button', { type: 'button', onclick, ariaPressed: String(pressed) }, text);
