// LineChart draws numbers over the time axis of a viewport, with uPlot.
import { duration, tickLabel } from './axis.js';
import { theme } from './theme.js';

export class LineChart {
  // series are {label, colour, width, dash, fill, steps}; colour is a colour's
  // name in the theme. label of time is the legend's.
  constructor(place, viewport, { series, time, height }) {
    Object.assign(this, { place, viewport, series, time, height, data: [[0], ...series.map(() => [null])] });
    this.#build();
    viewport.addEventListener('change', () => this.#follow());
    new ResizeObserver(() => this.#resize()).observe(place);
  }

  // setData sets the moments, and for each series a number for each of them.
  setData(moments, ...values) {
    this.data = [moments, ...values];
    this.plot.setData(this.data, false);
    this.#follow();
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
    const axis = { stroke: this.theme.muted, font: this.theme.small, grid: { stroke: this.theme.hairline, width: 1 }, ticks: { show: false } };
    const whole = values => values.map(v => Number.isInteger(v) ? v : '');
    return {
      width: Math.max(100, this.place.clientWidth), height: this.height, padding: [8, 0, 0, 0],
      scales: { x: { time: false, range: () => [this.viewport.from, this.viewport.to] }, y: { range: (_, low, high) => [0, Math.max(1, high ?? 1) * 1.06] } },
      axes: [
        { ...axis, size: 22, gap: 2, space: 80, values: (_, values) => values.map(v => tickLabel(v, this.viewport.to)) },
        { ...axis, size: 0, gap: -4, space: 28, align: 1, values: (_, values) => whole(values) },
      ],
      cursor: { drag: { x: true, y: false, setScale: false }, points: { size: 6 } },
      legend: { live: true },
      hooks: { setSelect: [u => this.#select(u)] },
      series: [{ label: this.time, value: (_, v) => v === null || v === undefined ? '' : duration(v) }, ...this.series.map(s => this.#line(s))],
    };
  }

  #line({ label, colour, width = 2, dash, fill, steps }) {
    return {
      label, width, dash, stroke: this.theme[colour], fill: fill && `${this.theme[fill]}`, points: { show: false },
      paths: steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
      value: (_, v) => v ?? '',
    };
  }

  #select(u) {
    if (u.select.width < 5) return;
    this.viewport.show(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'));
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
  }

  #follow() { this.plot.setScale('x', { min: this.viewport.from, max: this.viewport.to }); }

  #resize() {
    if (this.place.clientWidth > 0) this.plot.setSize({ width: this.place.clientWidth, height: this.height });
  }
}
