// ClaimsBand draws claims, or any requests, as lines from sent to answered. The
// claims that the viewport shows share its height, so that zooming in time makes
// them thicker too. Claims of one verdict are next to each other.
import { outlined } from './statements_band.js';
import { drawMark, verdicts } from './theme.js';

const leastHeight = 14; // of a verdict, so that a single claim can be seen, and its name read

export class ClaimsBand {
  // title is the text above the lines. items are {from, to, verdict, claim},
  // ordered from top to bottom within each verdict. names are the verdicts'
  // texts.
  constructor({ title, note, items, height, names }) {
    const groups = Map.groupBy(items, i => i.verdict);
    const order = [...verdicts].reverse().filter(v => groups.has(v));
    Object.assign(this, { title, note, height, names, rows: [], now: 0, groups: order.map(verdict => ({ verdict, items: groups.get(verdict) })) });
  }

  // drawn lists what was drawn last, with the verdict that was known then.
  get drawn() {
    return this.rows.flatMap(({ items, verdict, top, pitch }) => items.map((item, i) => ({
      item, y: top + (i + 0.5) * pitch, verdict: item.to > this.now ? 'in_flight' : verdict,
    }))).filter(d => d.item.from <= this.now);
  }

  // draw draws the items of the viewport into the box.
  draw(ctx, view) {
    const { viewport, box } = view;
    this.now = viewport.cursor ?? viewport.end;
    const shown = this.groups.map(g => ({ ...g, items: g.items.filter(i => i.from <= viewport.to && i.to >= viewport.from) })).filter(g => g.items.length > 0);
    const heights = share(box.bottom - box.top, shown.map(g => g.items.length));
    let top = box.top;
    this.rows = shown.map((group, i) => {
      const row = { ...group, top, pitch: Math.min(heights[i] / group.items.length, 16) };
      top += heights[i];
      return row;
    });
    for (const row of this.rows) this.#drawRow(ctx, row, view);
    const chosen = view.chosen && this.drawn.find(d => d.item === view.chosen);
    if (chosen) highlight(ctx, chosen, view);
  }

  #drawRow(ctx, row, view) {
    const sent = row.items.filter(i => i.from <= this.now);
    const count = sent.filter(i => i.to <= this.now || row.verdict === 'in_flight').length; // of the moment that is shown
    if (sent.length === 0) return;
    drawLines(ctx, row, view, this.now);
    if (row.pitch >= 7 || sent.length <= 60) drawMarks(ctx, row, view, this.now);
    if (count > 0) this.#drawName(ctx, row.verdict, count, row.top, view);
  }

  // drawName writes the verdict and the number of its claims at the right edge.
  #drawName(ctx, verdict, count, top, { box, theme }) {
    const text = `${this.names[verdict]} ${count}`;
    ctx.font = theme.small;
    ctx.textBaseline = 'middle';
    const left = box.right - ctx.measureText(text).width - 2;
    outlined(ctx, text, left, top + 6, theme.ink, theme.card);
    drawMark(ctx, verdict, left - 9, top + 6, 4.5, theme);
  }

  // at returns the item whose line is nearest to a point.
  at(y, t, slack) {
    let best = null;
    let least = 12;
    for (const d of this.drawn) {
      const away = Math.abs(d.y - y);
      if (away < least && d.item.from - slack <= t && d.item.to + slack >= t) [best, least] = [d, away];
    }
    return best && { item: best.item, y: best.y };
  }
}

// share divides a height in proportion to the counts, with a least height for
// each.
function share(height, counts) {
  const all = counts.reduce((sum, n) => sum + n, 0);
  const least = Math.min(leastHeight, height / counts.length);
  const small = counts.filter(n => n / all * height < least);
  const rest = height - small.length * least;
  const others = all - small.reduce((sum, n) => sum + n, 0);
  return counts.map(n => n / all * height < least ? least : n / others * rest);
}

// drawLines draws claims that share a row of pixels as one line.
function drawLines(ctx, { items, verdict, top, pitch }, { x, theme }, now) {
  const thick = Math.min(6, Math.max(1, Math.floor(pitch * 0.75)));
  const line = i => Math.round(top + (i + 0.5) * pitch - thick / 2);
  for (let i = 0; i < items.length;) {
    const y = line(i);
    let [from, to, latest] = [Infinity, 0, 0];
    for (; i < items.length && line(i) === y; i++) {
      from = Math.min(from, items[i].from);
      to = Math.max(to, Math.min(items[i].to, now));
      latest = Math.max(latest, items[i].to);
    }
    if (from > now) continue;
    ctx.fillStyle = theme.verdict[latest > now ? 'in_flight' : verdict];
    ctx.fillRect(x(from), y, Math.max(1, x(to) - x(from)), thick);
  }
}

function drawMarks(ctx, { items, verdict, top, pitch }, { x, theme }, now) {
  items.forEach((item, i) => {
    if (item.to <= now) drawMark(ctx, verdict, x(item.to), top + (i + 0.5) * pitch, Math.min(6, Math.max(3.5, pitch * 0.45)), theme);
  });
}

function highlight(ctx, d, { x, theme, viewport }) {
  const [left, right] = [x(d.item.from), x(Math.min(d.item.to, viewport.cursor ?? viewport.end))];
  ctx.fillStyle = theme.ink;
  ctx.fillRect(left, Math.round(d.y) - 1.5, Math.max(2, right - left), 3);
  if (d.verdict !== 'in_flight') drawMark(ctx, d.verdict, right, d.y, 7, theme);
}
