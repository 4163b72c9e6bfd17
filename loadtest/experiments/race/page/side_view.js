// SideView shows one side of a race: its settings, lights, pictures and code.
import { ClaimsBand } from './claims_band.js';
import { element, find } from './dom.js';
import { LineChart } from './lines.js';
import { chipsOf, judgementOf, nameOf } from './names.js';
import { SectionsBand } from './sections_band.js';
import { StepsBand } from './steps_band.js';
import { storyOf } from './story.js';
import { inLanguage, number, strings } from './strings.js';
import { addGestures } from './gestures.js';
import { Timeline } from './timeline.js';

export class SideView {
  #page = 0; // of the keys

  constructor(letter, viewport) {
    this.letter = letter;
    this.root = find('#side').content.cloneNode(true).firstElementChild;
    this.viewport = viewport;
    this.timeline = new Timeline(find('canvas', this.root), viewport);
    addGestures(this.timeline, { point: (x, y) => this.#point(x, y), leave: () => this.#tell(null), step: by => this.#step(by) });
    find('.previous', this.root).onclick = () => this.#turn(-1);
    find('.next', this.root).onclick = () => this.#turn(1);
  }

  // show shows a side. other is the side next to it.
  show(side, other) {
    if (this.side !== side) this.#page = 0;
    Object.assign(this, { side, other });
    this.timeline.chosen = null;
    this.refresh();
  }

  // refresh shows what the side has by now, in the present language.
  refresh() {
    this.#showHead();
    this.#showOutcome();
    this.#showIdle();
    this.#showTimeline();
    this.#showCharts();
    this.#showSource();
    this.#tell(this.timeline.chosen);
  }

  setTheme() {
    this.timeline.setTheme();
    this.stock?.setTheme();
    this.flight?.setTheme();
  }

  #showHead() {
    const { settings, workload } = this.side;
    find('.letter', this.root).textContent = this.letter;
    find('.name', this.root).textContent = nameOf(settings);
    find('.chips', this.root).replaceChildren(...chipsOf(settings, this.other?.settings).map(chip));
    const slow = find('.slow', this.root);
    slow.hidden = !workload.pause_ms;
    slow.textContent = strings.pauseShown(workload.pause_ms);
  }

  #showOutcome() {
    const { side } = this;
    const latest = side.counts?.orders ?? side.samples.at(-1)?.orders;
    find('.big', this.root).textContent = latest === undefined ? '' : strings.orders(number(latest));
    find('.expected', this.root).textContent = latest === undefined ? strings.expectedOrders(number(side.expected)) : judgementOf(side);
    this.root.dataset.outcome = !side.ended ? 'open' : side.promises.every(p => p.held) ? 'held' : 'broken';
    find('.lights', this.root).replaceChildren(...Object.keys(strings.promises).map(id => light(id, side.promises.find(p => p.id === id))));
    const sentence = find('.sentence', this.root);
    sentence.hidden = !inLanguage(side.sentence);
    sentence.textContent = inLanguage(side.sentence);
  }

  // An idle side has no pictures, only what it is going to do.
  #showIdle() {
    const { claims, workload: { users, claims_per_user: each, stock } } = this.side;
    const idle = claims.size === 0;
    const text = find('.idle', this.root);
    text.hidden = !idle;
    text.textContent = strings.idle(...[users * each, users, each, stock].map(number));
    this.timeline.canvas.hidden = idle;
    for (const figure of this.root.querySelectorAll('.chart')) figure.hidden = idle;
  }

  #showTimeline() {
    const { derived } = this.side;
    const lanes = derived.lanes.filter(lane => lane.instance !== '' || lane.items.length > 0);
    const keys = derived.keys.slice(this.#page * keysShown, (this.#page + 1) * keysShown);
    const bands = lanes.map(lane => this.#claimsBand(lane, lanes.length));
    if (keys.length > 0) bands.push(this.#sectionsBand(keys));
    if (derived.keys.length > keysShown) bands.push(this.#openBand());
    this.timeline.setBands(bands);
    this.timeline.canvas.setAttribute('aria-label', strings.timeline(this.letter));
    this.#showPager(derived.keys.length);
  }

  #claimsBand({ instance, items }, count) {
    const title = instance === '' ? strings.unanswered : strings.instance(instance);
    return new ClaimsBand({ title, note: strings.claimCount(number(items.length)), items, names: strings.verdicts, height: Math.max(70, 240 / count) });
  }

  #sectionsBand(keys) {
    const { derived } = this.side;
    const overlapping = derived.keys.filter(key => key.overlaps.length > 0).length;
    return new SectionsBand({
      title: strings.sections, note: strings.sectionsNote(number(derived.keys.length), number(overlapping)), keys,
      height: Math.max(130, keys.length * 34), label: key => strings.key(key.key, key.deepest),
    });
  }

  #openBand() {
    const { keys, open } = this.side.derived;
    const most = open.reduce((most, s) => Math.max(most, s.depth), 0);
    return new StepsBand({ title: strings.openSections, note: strings.openNote(number(keys.length), number(most)), steps: open, height: 44 });
  }

  #showPager(all) {
    const pager = find('.pager', this.root);
    const from = this.#page * keysShown;
    pager.hidden = all <= keysShown;
    find('.range', pager).textContent = strings.keysRange(number(from + 1), number(Math.min(all, from + keysShown)), number(all));
    for (const [name, text, off] of [['.previous', strings.previousKeys, from === 0], ['.next', strings.nextKeys, from + keysShown >= all]]) {
      find(name, pager).setAttribute('aria-label', text);
      find(name, pager).disabled = off;
    }
  }

  #turn(by) {
    this.#page += by;
    this.#showTimeline();
  }

  #showCharts() {
    const { samples, expected } = this.side;
    const moments = samples.map(s => s.t);
    const lines = [
      { label: strings.seriesStock, colour: 'accent', steps: true },
      { label: strings.seriesOrders, colour: 'good', width: 3, steps: true },
      { label: strings.seriesLimit, colour: 'ink', width: 1, dash: [6, 4] },
    ];
    const flight = [{ label: strings.seriesFlight, colour: 'muted', fill: 'wait', steps: true }];
    this.stock = this.#chart('.stock', strings.chartStock, this.stock, lines, 130);
    this.flight = this.#chart('.flight', strings.chartFlight, this.flight, flight, 70);
    this.stock.setData(moments, samples.map(s => s.stock), samples.map(s => s.orders), samples.map(() => expected));
    this.flight.setData(moments, samples.map(s => s.in_flight));
  }

  #chart(selector, title, chart, series, height) {
    const figure = find(selector, this.root);
    find('figcaption', figure).textContent = title;
    if (!chart) return new LineChart(find('.plot', figure), this.viewport, { series, time: strings.time, height });
    if (JSON.stringify(series) !== JSON.stringify(chart.series)) chart.setSeries(series, strings.time);
    return chart;
  }

  #showSource() {
    const { source } = this.side;
    const figure = find('.source', this.root);
    figure.hidden = !source?.text;
    if (figure.hidden) return;
    find('figcaption', figure).textContent = strings.source(source.file, source.from, source.to);
    find('pre', figure).setAttribute('aria-label', find('figcaption', figure).textContent);
    const lines = source.text.replace(/\n$/, '').split('\n');
    find('code', figure).replaceChildren(...lines.map((text, i) => element('span', { className: 'line', 'data-line': source.from + i }, `${text}\n`)));
  }

  #point(x, y) {
    const found = this.timeline.at(x, y);
    this.#tell(found?.item ?? null, found && { x, y });
  }

  // step chooses the next claim or the one before it, among those shown.
  #step(by) {
    const items = this.timeline.bands.filter(b => b instanceof ClaimsBand).flatMap(b => b.drawn.map(d => d.item));
    const next = items[(items.indexOf(this.timeline.chosen) + by + items.length) % items.length];
    if (next) this.#tell(next);
  }

  #tell(item, place) {
    if (item !== this.timeline.chosen) this.timeline.choose(item);
    const parts = item ? storyOf(this.side, item) : [];
    find('.story', this.root).textContent = parts.join(' ') || (this.side.claims.size > 0 ? strings.story.none : '');
    const tip = find('.tip', this.root);
    tip.hidden = !item || !place;
    if (tip.hidden) return;
    tip.replaceChildren(...parts.map(part => element('span', {}, part)));
    const left = place.x > this.timeline.canvas.clientWidth / 2;
    tip.style.left = left ? '' : `${place.x + 14}px`;
    tip.style.right = left ? `${this.timeline.canvas.clientWidth - place.x + 14}px` : '';
    tip.style.top = `${place.y + 14}px`;
  }
}

const keysShown = 8; // at once

const chip = ({ text, differs }) => element('li', { className: differs ? 'differs' : '' }, text,
  ...differs ? [element('span', { className: 'hidden' }, ` (${strings.differs})`)] : []);

function light(id, promise) {
  const [name, text] = strings.promises[id];
  const state = !promise ? 'open' : promise.held ? 'held' : 'broken';
  const said = { open: strings.open_, held: strings.held, broken: strings.broken }[state];
  return element('li', { className: `light ${state}`, 'data-promise': id },
    element('span', { className: 'lamp', 'aria-hidden': 'true' }, { open: '·', held: '✓', broken: '✗' }[state]),
    element('span', { className: 'promise' }, name),
    element('span', { className: 'said' }, promise && !promise.held ? `${said}: ${text(number(promise.number))}` : said));
}
