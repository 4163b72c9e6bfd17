// LanesBand draws what the processes of a scenario did with a lock: a row for each,
// a bar while it takes itself for the holder, red where two do, a mark for each call
// and a line for the fault.
import { overlapsOf } from './race.js';
import { outlined } from './statements_band.js';
import { hatch } from './theme.js';

const head = 30; // for the texts of faults
const rowHeight = 36;

export class LanesBand {
  // lanes are {Name, Spans}; a span is {Name, Kind, From, To}, in milliseconds. The
  // last lane is that of the faults. title is the text above, nameOf says a text in the reader's language.
  constructor({ title, lanes, nameOf }) {
    const rows = lanes.slice(0, -1).filter(lane => lane.Spans.length > 0);
    const holds = rows.flatMap(lane => lane.Spans.filter(s => s.Kind === 'hold'));
    Object.assign(this, { title, nameOf, rows, faults: lanes.at(-1).Spans, height: head + rows.length * rowHeight,
      overlaps: overlapsOf(holds.map(s => [s.From * 1000, s.To * 1000])) });
  }

  draw(ctx, { box, x, theme }) {
    const at = ms => x(ms * 1000);
    const top = i => box.top + head + i * rowHeight;
    ctx.font = theme.small;
    ctx.textBaseline = 'middle';
    for (const { from, to } of this.overlaps) {
      ctx.fillStyle = theme.overlapSoft;
      ctx.fillRect(x(from), box.top + head - 4, Math.max(2, x(to) - x(from)), this.rows.length * rowHeight);
      ctx.fillStyle = this.hatch ??= hatch(ctx, theme.overlap);
      ctx.globalAlpha = 0.35;
      ctx.fillRect(x(from), box.top + head - 4, Math.max(2, x(to) - x(from)), this.rows.length * rowHeight);
      ctx.globalAlpha = 1;
    }
    this.rows.forEach((lane, i) => this.#drawRow(ctx, lane, top(i), at, box, theme));
    let [free, line] = [-Infinity, 0]; // texts that would overlap take turns on two lines
    for (const fault of this.faults) {
      const name = this.nameOf(fault.Name);
      ctx.fillStyle = theme.overlap;
      ctx.fillRect(at(fault.From), box.top + 14, 1.5, box.bottom - box.top - 14);
      const left = Math.min(at(fault.From), box.right - ctx.measureText(name).width);
      line = left < free ? 1 - line : 0;
      free = left + ctx.measureText(name).width + 8;
      outlined(ctx, name, left, box.top + 4 + line * 13, theme.overlap, theme.card);
    }
  }

  #drawRow(ctx, lane, top, at, box, theme) {
    outlined(ctx, this.nameOf(lane.Name), box.left, top + 9, theme.ink, theme.card);
    for (const span of lane.Spans.filter(s => s.Kind === 'hold')) {
      ctx.fillStyle = theme.accent;
      ctx.fillRect(at(span.From), top + 3, Math.max(2, at(span.To) - at(span.From)), 12);
    }
    let free = -Infinity;
    for (const span of lane.Spans.filter(s => s.Kind === 'call')) {
      ctx.fillStyle = theme.ink;
      ctx.fillRect(at(span.From), top, Math.max(2, at(span.To) - at(span.From)), 18);
      const text = this.nameOf(span.Name.replace(/^\w+: /, ''));
      const left = Math.min(at(span.From), box.right - ctx.measureText(text).width);
      if (left < free) continue;
      outlined(ctx, text, left, top + 25, theme.muted, theme.card);
      free = left + ctx.measureText(text).width + 6;
    }
  }

  at() { return null; }
}
