// Timeline draws bands below each other on a canvas over one time axis. A band
// has a title, a note (or a function of the moment that returns it), a height,
// draw and at; the bands that exist are ClaimsBand, SectionsBand, StatementsBand and
// StepsBand.
import { drawAxis } from './axis.js';
import { outlined } from './statements_band.js';
import { theme } from './theme.js';

const titleHeight = 20;
const axisHeight = 20;
const gap = 10;

export class Timeline {
  bands = [];
  chosen = null;
  marks = []; // times {from, to, label} that are shaded
  selection = null; // that a drag makes, in pixels
  #asked = false;
  drawings = 0;
  milliseconds = 0; // that the last drawing took

  constructor(canvas, viewport) {
    Object.assign(this, { canvas, viewport, ctx: canvas.getContext('2d'), theme: theme() });
    viewport.addEventListener('change', () => this.redraw());
    new ResizeObserver(() => this.#resize()).observe(canvas);
  }

  setBands(bands) {
    this.bands = bands;
    const height = bands.reduce((sum, band) => sum + titleHeight + band.height + gap, 0) + axisHeight;
    this.canvas.style.height = `${height}px`;
    this.#resize();
  }

  // choose highlights an item of a band.
  choose(item) {
    this.chosen = item;
    this.redraw();
  }

  // setTheme reads the colours again.
  setTheme() {
    this.theme = theme();
    for (const band of this.bands) band.hatch = undefined;
    this.redraw();
  }

  // redraw draws at the next frame of the browser.
  redraw() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => {
      this.#asked = false;
      this.#draw();
    });
  }

  #resize() {
    const ratio = devicePixelRatio;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight].map(n => Math.round(n * ratio));
    if (this.canvas.width !== width || this.canvas.height !== height) [this.canvas.width, this.canvas.height] = [width, height];
    this.redraw();
  }

  #draw() {
    const began = performance.now();
    const { ctx, viewport } = this;
    const [width, height] = [this.canvas.clientWidth, this.canvas.clientHeight];
    ctx.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    drawAxis(ctx, viewport, { left: 0, right: width, top: height - axisHeight, bottom: height }, this.theme);
    let top = 0;
    for (const band of this.bands) {
      band.box = { left: 0, right: width, top: top + titleHeight, bottom: top + titleHeight + band.height };
      this.#drawTitle(band, top);
      this.#drawBand(band);
      top = band.box.bottom + gap;
    }
    for (const mark of this.marks) this.#drawMark(mark, height - axisHeight);
    this.#drawSelection(height - axisHeight);
    if (viewport.cursor !== null) this.#drawCursor(height - axisHeight);
    this.milliseconds = performance.now() - began;
    this.drawings++;
  }

  #drawTitle({ title, note = '' }, top) {
    const { ctx } = this;
    ctx.textBaseline = 'middle';
    ctx.font = `600 ${this.theme.font}`;
    ctx.fillStyle = this.theme.ink;
    ctx.fillText(title, 0, top + titleHeight / 2 - 1);
    const width = ctx.measureText(title).width;
    ctx.font = this.theme.small;
    ctx.fillStyle = this.theme.muted;
    const text = typeof note === 'function' ? note(this.viewport.cursor ?? this.viewport.end) : note;
    ctx.fillText(text, width + 8, top + titleHeight / 2 - 1);
  }

  #drawBand(band) {
    const { ctx, viewport, chosen } = this;
    const { left, top, right, bottom } = band.box;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top - 6, right - left, bottom - top + 12);
    ctx.clip();
    band.draw(ctx, { viewport, box: band.box, x: t => this.x(t), theme: this.theme, chosen });
    ctx.restore();
  }

  #drawMark({ from, to, label }, height) {
    const { ctx, viewport, theme } = this;
    const now = viewport.cursor ?? viewport.end;
    if (from > now) return;
    const [left, right] = [this.x(from), this.x(Math.min(to, now))];
    ctx.fillStyle = theme.muted;
    ctx.globalAlpha = 0.18;
    ctx.fillRect(left, 0, Math.max(2, right - left), height);
    ctx.globalAlpha = 1;
    ctx.fillRect(left, 0, 2, height);
    ctx.font = theme.small;
    ctx.textBaseline = 'middle';
    const width = ctx.measureText(label).width;
    outlined(ctx, label, Math.max(0, Math.min(left + 5, this.canvas.clientWidth - width)), height - 8, theme.ink, theme.card);
  }

  #drawSelection(height) {
    if (!this.selection) return;
    this.ctx.fillStyle = this.theme.accent;
    this.ctx.globalAlpha = 0.2;
    this.ctx.fillRect(this.selection.from, 0, this.selection.to - this.selection.from, height);
    this.ctx.globalAlpha = 1;
  }

  #drawCursor(height) {
    this.ctx.fillStyle = this.theme.ink;
    this.ctx.fillRect(Math.round(this.x(this.viewport.cursor)), 0, 1.5, height);
  }

  // x returns where a moment is on the canvas, time the moment at a place.
  x(moment) { return (moment - this.viewport.from) / this.viewport.span * this.canvas.clientWidth; }
  time(x) { return this.viewport.from + x / this.canvas.clientWidth * this.viewport.span; }

  // at returns the item at a point, its band and its y, or null.
  at(x, y) {
    const slack = this.time(6) - this.time(0);
    for (const band of this.bands) {
      if (!band.box || y < band.box.top - 4 || y > band.box.bottom + 4) continue;
      const found = band.at(y, this.time(x), slack);
      if (found) return { band, ...found };
    }
    return null;
  }
}
