// IncidentView shows what happened inside one section and those beside it: the
// statements of their transactions, and a sentence that tells them.
import { duration } from './axis.js';
import { find } from './dom.js';
import { StatementsBand, titleWidth } from './statements_band.js';
import { counted, incidentOf, momentsOf, numberOf, rowsOf, statementsOf } from './statements.js';
import { number, strings } from './strings.js';
import { Timeline } from './timeline.js';
import { Viewport } from './viewport.js';

const mostRows = 3;

export class IncidentView {
  constructor(root) {
    this.root = root;
    this.viewport = new Viewport();
    this.timeline = new Timeline(find('canvas', root), this.viewport);
  }

  // show shows the clearest example of what the side has shown, once it has ended.
  show(side) {
    this.#draw(side, side.ended ? incidentOf(side) : null);
  }

  // focus shows a section that the reader has chosen.
  focus(side, section) {
    this.#draw(side, { kind: 'chosen', first: side.claims.get(Number(section.claim)), a: section });
  }

  #draw(side, incident) {
    this.root.hidden = !incident;
    if (!incident) return;
    const rows = rowsOf(side, incident, mostRows);
    const named = rows.map(row => ({ ...row, title: strings.claimOf(number(row.claim.n), row.claim.instance), wrong: side.derived.wrong.has(row.claim.n) }));
    const moments = momentsOf(incident);
    find('figcaption', this.root).textContent = strings.incident[incident.kind](namesOf(side, incident), textsOf(moments));
    this.timeline.canvas.setAttribute('aria-label', find('figcaption', this.root).textContent);
    this.#frame(rows.slice(0, 2));
    this.timeline.setBands([new StatementsBand({ title: strings.inside, note: '', rows: named, noteOf: step => noteOf(step, incident.kind), ...marksOf(incident, rows, moments) })]);
  }

  // frame shows the time of the rows' statements, with room for the rows' titles at the
  // left and for the last statement's name at the right.
  #frame(rows) {
    const times = rows.flatMap(({ section }) => {
      const moments = statementsOf(section).flatMap(s => [s.begin, s.end]);
      return moments.length > 0 || !section ? moments : [section.granted, section.released];
    });
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const span = Math.max(100, to - from);
    const width = Math.max(200, this.timeline.canvas.clientWidth);
    const [left, right] = [titleWidth, 64].map(pixels => span * pixels / (width - titleWidth - 64));
    this.viewport.start = -span - left;
    this.viewport.setEnd(to + span + right);
    this.viewport.show(from - left, to + right);
  }
}

const namesOf = (side, { first, second }) => ({ user: userOf(side, first), first: number(first.n), second: second && number(second.n) });

// A user's numbers are told apart where the unique key does so.
const userOf = (side, claim) => side.workload.per_user > 1 && side.settings.guards.includes('unique')
  ? strings.numbered(claim.user, number(numberOf(claim, side))) : claim.user;

const textsOf = moments => Object.fromEntries(Object.entries(moments).map(([name, t]) =>
  [name, typeof t === 'number' ? duration(t) : t]));

// marksOf returns the arrows, and the moment from which the first order is visible.
function marksOf({ kind, first, second }, rows, { committed, looked, read, updated, inserted }) {
  const [i, j] = [first, second].map(claim => rows.findIndex(row => row.claim === claim));
  const visible = second && committed ? { row: i, t: committed, text: strings.visible(number(first.n)) } : undefined;
  const below = 17; // of the boxes
  const from = { duplicate: looked, beyond: looked, oversold: read }[kind];
  const to = { duplicate: inserted, beyond: inserted, oversold: updated }[kind];
  if (from !== undefined && to !== undefined) return { visible, arrows: [{ from: [j, from, below], to: [j, to, below], colour: 'overlap' }] };
  if (kind === 'seen') return { visible, arrows: [{ from: [i, committed, i < j ? below : 0], to: [j, looked, i < j ? 0 : below], colour: 'good' }] };
  return { visible, arrows: [] };
}

// noteOf says what a statement has read or refused. What is left of the stock does
// not depend on the user's orders.
function noteOf(step, incident) {
  const { kind, result, error } = step;
  if (error) return strings.statement.error;
  switch (kind) {
    case 'look': if (counted(step) !== undefined) return strings.statement.counted(result);
      return ['oversold', 'turns'].includes(incident) ? '' : result ? strings.statement.found : strings.statement.none;
    case 'read': return strings.statement.stock(result);
    case 'update': return result === '0' ? strings.statement.unchanged : '';
    default: return '';
  }
}
