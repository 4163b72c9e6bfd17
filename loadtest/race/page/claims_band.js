// ClaimsBand draws claims, or any requests, as lines from sent to answered. The
// claims that the viewport shows share its height, so that zooming in time makes
// them thicker too.
import { drawMark, verdicts } from './theme.js';

export class ClaimsBand {
  // title is the text above the lines. items are {from, to, verdict, claim},
  // ordered from top to bottom.
  constructor({ title, note, items, height }) {
    Object.assign(this, { title, note, items, height, drawn: [] });
  }

  // draw draws the items of the viewport into the box.
  draw(ctx, { viewport, box, x, theme, chosen }) {
    const now = viewport.cursor ?? viewport.end;
    const visible = this.items.filter(i => i.from <= viewport.to && i.to >= viewport.from);
    const pitch = (box.bottom - box.top) / Math.max(visible.length, 1);
    const thick = Math.min(5, Math.max(1, Math.floor(pitch * 0.7)));
    this.drawn = visible.map((item, i) => ({
      item, y: box.top + (i + 0.5) * Math.min(pitch, 14),
      verdict: item.to > now ? 'in_flight' : item.verdict,
    })).filter(d => d.item.from <= now);
    for (const verdict of verdicts) this.#drawLines(ctx, verdict, thick, x, now, theme);
    for (const verdict of verdicts) this.#drawMarks(ctx, verdict, pitch, x, theme);
    const d = this.drawn.find(d => d.item === chosen);
    if (d) highlight(ctx, d, x, now, theme);
  }

  #drawLines(ctx, verdict, thick, x, now, theme) {
    ctx.fillStyle = theme.verdict[verdict];
    ctx.globalAlpha = verdict === 'accepted' ? 0.9 : 0.6;
    for (const d of this.drawn) {
      if (d.verdict !== verdict) continue;
      const left = x(d.item.from);
      ctx.fillRect(left, Math.round(d.y - thick / 2), Math.max(1, x(Math.min(d.item.to, now)) - left), thick);
    }
    ctx.globalAlpha = 1;
  }

  #drawMarks(ctx, verdict, pitch, x, theme) {
    const own = this.drawn.filter(d => d.verdict === verdict && verdict !== 'in_flight');
    if (pitch < 7 && (own.length > 60 || verdict !== 'accepted')) return;
    for (const d of own) drawMark(ctx, verdict, x(d.item.to), d.y, Math.min(6, Math.max(4, pitch * 0.45)), theme);
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

function highlight(ctx, d, x, now, theme) {
  const [left, right] = [x(d.item.from), x(Math.min(d.item.to, now))];
  ctx.fillStyle = theme.ink;
  ctx.fillRect(left, Math.round(d.y) - 1.5, Math.max(2, right - left), 3);
  if (d.verdict !== 'in_flight') drawMark(ctx, d.verdict, right, d.y, 7, theme);
}
