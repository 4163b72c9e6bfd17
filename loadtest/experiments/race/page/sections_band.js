// SectionsBand draws the critical sections of keys, a row for each key: a thin
// line while a holder waits, a bar while it is inside, and red wherever two are
// inside at once.
import { outlined } from './statements_band.js';
import { hatch } from './theme.js';

export class SectionsBand {
  // keys are {key, items, rows, overlaps, steps}. label returns the text of a key
  // with so many sections inside at once.
  constructor({ title, note, keys, height, label }) {
    Object.assign(this, { title, note, keys, height, label, drawn: [], drawnOverlaps: [] });
  }

  draw(ctx, { viewport, box, x, theme, chosen }) {
    this.drawn = [];
    this.drawnOverlaps = [];
    const now = viewport.cursor ?? viewport.end;
    const height = (box.bottom - box.top) / this.keys.length;
    this.keys.forEach((key, i) => {
      const row = { top: box.top + i * height, bottom: box.top + (i + 1) * height - 4 };
      this.#drawKey(ctx, key, row, { viewport, box, x, theme, chosen, now });
    });
  }

  #drawKey(ctx, key, row, view) {
    const { box, theme } = view;
    ctx.fillStyle = theme.band;
    ctx.fillRect(box.left, row.top, box.right - box.left, row.bottom - row.top);
    const body = { top: row.top + 14, bottom: row.bottom - 1 };
    for (const overlap of key.overlaps) this.#drawOverlap(ctx, key, overlap, row, view);
    for (const item of key.items) this.#drawSection(ctx, key, item, body, view);
    ctx.font = theme.small;
    ctx.textBaseline = 'middle';
    const deepest = key.steps.reduce((most, s) => s.t <= view.now ? Math.max(most, s.depth) : most, 0);
    outlined(ctx, this.label(key.key, deepest), box.left + 5, row.top + 8, deepest > 1 ? theme.overlap : theme.muted, theme.band);
  }

  #drawOverlap(ctx, key, overlap, row, { viewport, x, theme, now }) {
    if (overlap.to < viewport.from || overlap.from > Math.min(viewport.to, now)) return;
    const [left, right] = [x(overlap.from), x(Math.min(overlap.to, now))];
    const width = Math.max(2, right - left);
    ctx.fillStyle = theme.overlapSoft;
    ctx.fillRect(left, row.top, width, row.bottom - row.top);
    ctx.fillStyle = this.hatch ??= hatch(ctx, theme.overlap);
    ctx.globalAlpha = 0.35;
    ctx.fillRect(left, row.top, width, row.bottom - row.top);
    ctx.globalAlpha = 1;
    ctx.fillStyle = theme.overlap;
    ctx.fillRect(left, row.top, width, 3);
    this.drawnOverlaps.push({ key: key.key, from: overlap.from, to: Math.min(overlap.to, now), depth: overlap.depth,
      x: left, y: row.top + 1, width });
  }

  #drawSection(ctx, key, item, body, { viewport, x, theme, now, chosen }) {
    if (item.released < viewport.from || item.wanted > Math.min(viewport.to, now)) return;
    const pitch = (body.bottom - body.top) / key.rows;
    const height = Math.max(1, Math.min(12, Math.floor(pitch * 0.8)));
    const y = Math.round(body.top + (item.row + 0.5) * pitch - height / 2) + height / 2;
    ctx.fillStyle = theme.wait;
    ctx.fillRect(x(item.wanted), y - 0.5, x(Math.min(item.granted, now)) - x(item.wanted), 1);
    if (item.granted > now) return;
    const bar = (from, to) => ctx.fillRect(x(from), y - height / 2, Math.max(1, x(Math.min(to, now)) - x(from)), height);
    ctx.fillStyle = item === chosen ? theme.ink : theme.accent;
    bar(item.granted, item.released);
    ctx.fillStyle = theme.overlap;
    for (const o of key.overlaps) {
      if (o.from < item.released && o.to > item.granted && o.from <= now) bar(Math.max(o.from, item.granted), Math.min(o.to, item.released));
    }
    if (item === chosen) outline(ctx, x(item.granted), y - height / 2, Math.max(1, x(Math.min(item.released, now)) - x(item.granted)), height, theme);
    this.drawn.push({ item, key: key.key, from: item.granted, to: item.released, y });
  }

  // at returns the section whose bar is nearest to a point.
  at(y, t, slack) {
    let best = null;
    let least = 10;
    for (const d of this.drawn) {
      const away = Math.abs(d.y - y);
      if (away < least && d.item.wanted - slack <= t && d.item.released + slack >= t) [best, least] = [d, away];
    }
    return best && { item: best.item, y: best.y };
  }
}

function outline(ctx, left, top, width, height, theme) {
  ctx.strokeStyle = theme.ink;
  ctx.lineWidth = 2;
  ctx.strokeRect(left - 1, top - 1, width + 2, height + 2);
}
