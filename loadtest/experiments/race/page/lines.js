// LineChart draws numbers over the time axis of a viewport, with uPlot.
import { drawAxis, duration, ticks } from './axis.js';
import { number } from './strings.js';
import { theme } from './theme.js';

const topHeight = 14; // for the label of the highest number
const axisHeight = 18;

export class LineChart {
  // series are {label, colour, width, dash, fill, steps, limit}; colour is a
  // colour's name in the theme, above limit it is the colour of overlaps. label of
  // time is the legend's.
  constructor(place, viewport, { series, time, height }) {
    Object.assign(this, { place, viewport, series, time, height, data: [[0], ...series.map(() => [null])] });
    this.#build();
    viewport.addEventListener('change', () => this.#follow());
    new ResizeObserver(() => this.#resize()).observe(place);
    place.addEventListener('mouseleave', () => queueMicrotask(() => this.#showLast()));
  }

  // setData sets the moments, and for each series a number for each of them.
  setData(moments, ...values) {
    this.data = [moments, ...values];
    this.most = values.flat().reduce((most, n) => Math.max(most, n ?? 0), 1);
    this.#follow();
  }

  // showLast shows the last values in the legend, where the pointer shows none.
  #showLast() {
    if (this.plot.cursor.left < 0) this.plot.setLegend({ idx: this.plot.data[0].length - 1 }, false);
  }

  // setSeries changes the texts or looks of the series.
  setSeries(series, time) {
    Object.assign(this, { series, time });
    this.setTheme();
  }

  // setTheme reads the colours again.
  setTheme() {
    this.plot.destroy();
    this.#build();
    this.#follow();
  }

  #build() {
    this.theme = theme();
    this.plot = new uPlot(this.#options(), this.data, this.place);
  }

  #options() {
    return {
      width: Math.max(100, this.place.clientWidth), height: this.height, padding: [topHeight, 0, axisHeight, 0],
      scales: { x: { time: false, range: () => [this.viewport.from, this.viewport.to] }, y: { range: () => [0, (this.most ?? 1) * 1.06] } },
      axes: [{ show: false }, { show: false }],
      cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      hooks: { drawClear: [u => this.#drawTime(u)], draw: [u => this.#drawNumbers(u)], setSelect: [u => this.#select(u)] },
      series: [{ label: this.time, value: (_, v) => v === null || v === undefined ? '' : duration(v) }, ...this.series.map(s => this.#line(s))],
    };
  }

  #drawTime({ ctx, width, height }) {
    ctx.save();
    ctx.scale(devicePixelRatio, devicePixelRatio);
    drawAxis(ctx, this.viewport, { left: 0, right: width, top: height - axisHeight, bottom: height }, this.theme);
    ctx.restore();
  }

  // drawNumbers draws the labels of the vertical axis over the lines.
  #drawNumbers(u) {
    const { ctx } = u;
    ctx.save();
    ctx.scale(devicePixelRatio, devicePixelRatio);
    Object.assign(ctx, { font: this.theme.small, textBaseline: 'bottom', textAlign: 'left', lineWidth: 4, strokeStyle: this.theme.card, lineJoin: 'round' });
    for (const n of ticks(0, u.scales.y.max, Math.max(1, this.height / 50)).filter(n => n > 0 && Number.isInteger(n))) {
      const y = Math.round(u.valToPos(n, 'y')) + topHeight;
      ctx.fillStyle = this.theme.hairline;
      ctx.fillRect(0, y, u.width, 1);
      ctx.strokeText(number(n), 2, y - 1);
      ctx.fillStyle = this.theme.muted;
      ctx.fillText(number(n), 2, y - 1);
    }
    ctx.restore();
  }

  #line({ label, colour, width = 2, dash, fill, steps, limit }) {
    return {
      label, width, dash, stroke: limit === undefined ? this.theme[colour] : u => this.#twoColours(u, colour, limit), fill: fill && `${this.theme[fill]}`, points: { show: false },
      paths: steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      value: (_, v) => v === null || v === undefined ? '' : number(v),
    };
  }

  // twoColours returns the colour of a line that is another one above a limit.
  #twoColours(u, colour, limit) {
    if (!u.bbox?.height || !(u.scales.y?.max > 0)) return this.theme[colour]; // the legend asks before anything is drawn
    const { top, height } = u.bbox;
    const at = Math.min(1, Math.max(0, (u.valToPos(limit, 'y', true) - top - 2) / height));
    const gradient = u.ctx.createLinearGradient(0, top, 0, top + height);
    for (const [stop, name] of [[0, 'overlap'], [at, 'overlap'], [at, colour], [1, colour]]) gradient.addColorStop(stop, this.theme[name]);
    return gradient;
  }

  #select(u) {
    if (u.select.width < 5) return;
    this.viewport.show(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  // follow shows the values until the moment of the viewport.
  #follow() {
    const now = this.viewport.cursor;
    const count = now === null ? this.data[0].length : this.data[0].filter(t => t <= now).length;
    if (this.shown !== this.data || this.plot.data[0].length !== count) this.plot.setData(this.data.map(list => list.slice(0, count)), false);
    this.shown = this.data;
    this.plot.setScale('x', { min: this.viewport.from, max: this.viewport.to });
    queueMicrotask(() => this.#showLast()); // after uPlot's own, which empties the legend
  }

  #resize() {
    if (this.place.clientWidth > 0) this.plot.setSize({ width: this.place.clientWidth, height: this.height });
  }
}
