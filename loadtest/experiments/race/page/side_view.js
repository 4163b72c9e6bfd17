// SideView shows one side of a race: its settings, lights and pictures.
import { ClaimsBand } from './claims_band.js';
import { element, find, setText } from './dom.js';
import { IncidentView } from './incident_view.js';
import { LineChart } from './lines.js';
import { chipsOf, commandsOf, keyName, nameOf } from './names.js';
import { headlineOf, promisesOf } from './outcome.js';
import { SectionsBand } from './sections_band.js';
import { StepsBand } from './steps_band.js';
import { storyOf } from './story.js';
import { number, strings } from './strings.js';
import { addGestures } from './gestures.js';
import { Timeline } from './timeline.js';

export class SideView {
  #page = 0; // of the keys

  constructor(letter, viewport) {
    this.letter = letter;
    this.root = find('#side').content.cloneNode(true).firstElementChild;
    this.viewport = viewport;
    [this.sections, this.claims] = ['.sections canvas', '.claims canvas'].map(selector => this.#timeline(find(selector, this.root)));
    this.incident = new IncidentView(find('.inside', this.root));
    find('.previous', this.root).onclick = () => this.#turn(-1);
    find('.next', this.root).onclick = () => this.#turn(1);
    viewport.addEventListener('moment', () => this.#showOutcome());
  }

  get timelines() { return [this.sections, this.claims]; }

  #timeline(canvas) {
    const timeline = new Timeline(canvas, this.viewport);
    addGestures(timeline, {
      point: (x, y) => this.#point(timeline, x, y), leave: () => this.#tell(null), step: by => this.#step(by),
      choose: (x, y) => this.#choose(timeline.at(x, y)?.item),
    });
    return timeline;
  }

  // show shows a side. others are the sides next to it.
  show(side, others) {
    if (this.side !== side) this.#page = 0;
    Object.assign(this, { side, others });
    for (const timeline of this.timelines) timeline.chosen = null;
    this.refresh();
  }

  // refresh shows what the side has by now, in the present language.
  refresh() {
    this.#showHead();
    this.#showOutcome();
    this.#showIdle();
    this.#showTimelines();
    this.incident.show(this.side);
    this.#showCharts();
    this.#tell(this.sections.chosen);
  }

  setTheme() {
    for (const timeline of this.timelines) timeline.setTheme();
    this.incident.timeline.setTheme();
    this.stock?.setTheme();
    this.flight?.setTheme();
  }

  #showHead() {
    const { settings, workload, coupon } = this.side;
    for (const e of this.root.querySelectorAll('[data-letter]')) e.dataset.letter = this.letter;
    find('.letter', this.root).textContent = this.letter;
    find('.name', this.root).textContent = nameOf(settings);
    find('.chips', this.root).replaceChildren(...chipsOf(settings, this.others.map(other => other.settings)).map(chip));
    const key = { user: 'redis_lock:userId:1', coupon: `redis_lock:couponId:${coupon || 1}`, segment: `redis_lock:couponId:${coupon || 1}:segment:0` }[settings.lock_scope].replace(/^/, ['redis', 'redlock'].includes(settings.lock) ? 'flashsale:' : '');
    const commands = commandsOf(settings, key);
    find('.commands', this.root).replaceChildren(...commands.length > 0
      ? commands.map((text, i) => element('div', {}, element('span', {}, [strings.acquire, strings.release][i]), element('code', { title: text }, text)))
      : [element('div', {}, element('code', {}, strings.noCommand[settings.lock] ?? ''))]);
    const slow = find('.slow', this.root);
    slow.hidden = !workload.pause_ms;
    slow.textContent = strings.pauseShown(number(workload.pause_ms));
  }

  // The outcome is that of the moment which is shown: the verdicts come at the end.
  #showOutcome() {
    const { side, viewport: { cursor } } = this;
    if (!side) return;
    const { big, small, outcome } = headlineOf(side, cursor);
    this.root.dataset.outcome = outcome;
    setText(find('.big', this.root), big);
    setText(find('.expected', this.root), small);
    const lights = promisesOf(side, cursor);
    const shown = JSON.stringify([lights, strings.otherLanguage]);
    if (this.lights === shown) return;
    this.lights = shown;
    find('.lights', this.root).replaceChildren(...lights.map(light));
  }

  // An idle side has no pictures, only what it is going to do.
  #showIdle() {
    const { claims, workload: { users, claims_per_user: each, stock } } = this.side;
    const idle = claims.size === 0;
    const text = find('.idle', this.root);
    text.hidden = !idle;
    text.textContent = strings.idle(...[users * each, users, each, stock].map(number));
    for (const timeline of this.timelines) timeline.canvas.hidden = idle;
    for (const figure of this.root.querySelectorAll('.chart')) figure.hidden = idle;
  }

  #showTimelines() {
    const { derived, settings } = this.side;
    const lanes = derived.lanes.filter(lane => lane.instance !== '' || lane.items.length > 0);
    const keys = derived.keys.slice(this.#page * keysShown, (this.#page + 1) * keysShown);
    const marks = this.side.struck ? [{ ...this.side.struck, label: strings.struck(strings.faults[settings.fault], this.side.struck.instance) }] : [];
    for (const timeline of this.timelines) timeline.marks = marks;
    const sections = keys.length > 0 ? [this.#sectionsBand(keys)] : [];
    this.sections.setBands(sections);
    const claims = lanes.map(lane => this.#claimsBand(lane, lanes.length));
    this.claims.setBands(derived.keys.length > keysShown ? [...claims, this.#openBand()] : claims);
    this.sections.canvas.setAttribute('aria-label', strings.timeline(this.letter));
    this.claims.canvas.setAttribute('aria-label', strings.claimsTimeline(this.letter));
    this.#showPager(derived.keys.length);
  }

  #claimsBand({ instance, items }, count) {
    const title = instance === '' ? strings.unanswered : strings.instance(instance);
    return new ClaimsBand({ title, note: strings.claimCount(number(items.length)), items, names: strings.verdicts, height: Math.max(64, 190 / count) });
  }

  #sectionsBand(keys) {
    const { derived, settings } = this.side;
    const overlapping = now => derived.keys.filter(key => key.overlaps.some(o => o.from <= now)).length;
    return new SectionsBand({
      title: strings.sections, note: now => strings.sectionsNote(number(derived.keys.length), number(overlapping(now))), keys,
      height: Math.max(56, keys.length * 33), label: (key, deepest) => strings.key(keyName(settings.lock, key), deepest),
    });
  }

  #openBand() {
    const { keys, open } = this.side.derived;
    const most = now => open.reduce((most, s) => s.t <= now ? Math.max(most, s.depth) : most, 0);
    return new StepsBand({ title: strings.openSections, note: now => strings.openNote(number(keys.length), number(most(now))), steps: open, height: 30 });
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
    this.#showTimelines();
  }

  #showCharts() {
    const { samples, expected } = this.side;
    const moments = samples.map(s => s.t);
    const lines = [
      { label: strings.seriesStock, colour: 'accent', steps: true },
      { label: strings.seriesOrders, colour: 'good', width: 3, steps: true, limit: expected },
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

  #point(timeline, x, y) {
    const found = timeline.at(x, y);
    this.#tell(found?.item ?? null, found && { timeline, x, y });
  }

  // choose shows what happened inside the section of an item.
  #choose(item) {
    const section = item && sectionIn(this.side, item);
    if (section) this.incident.focus(this.side, section);
  }

  // step chooses the next claim or the one before it, among those shown.
  #step(by) {
    const items = this.claims.bands.flatMap(b => b.drawn?.map(d => d.item) ?? []);
    const next = items[(items.indexOf(this.claims.chosen) + by + items.length) % items.length];
    if (!next) return;
    this.#tell(next);
    this.#choose(next);
  }

  #tell(item, place) {
    for (const timeline of this.timelines) if (item !== timeline.chosen) timeline.choose(item);
    const parts = item ? storyOf(this.side, item) : [];
    setText(find('.story', this.root), parts.join(strings.space) || (this.side.claims.size > 0 ? strings.story.none : ''));
    for (const timeline of this.timelines) showTip(timeline, parts, place?.timeline === timeline ? place : null);
  }
}

const keysShown = 5; // at once

function sectionIn(side, item) {
  const n = typeof item.claim === 'object' ? item.claim.n : Number(item.claim);
  return side.sections.find(s => s.claim !== '' && Number(s.claim) === n);
}

function showTip({ canvas }, parts, place) {
  const tip = find('.tip', canvas.parentElement);
  tip.hidden = parts.length === 0 || !place;
  if (tip.hidden) return;
  tip.replaceChildren(...parts.map(part => element('span', {}, part)));
  const left = place.x > canvas.clientWidth / 2;
  tip.style.left = left ? '' : `${place.x + 14}px`;
  tip.style.right = left ? `${canvas.clientWidth - place.x + 14}px` : '';
  tip.style.top = `${place.y + 14}px`;
}

const chip = ({ text, differs }) => element('li', { className: differs ? 'differs' : '' }, text,
  ...differs ? [element('span', { className: 'hidden' }, strings.differs)] : []);

const light = ({ id, name, said, state }) => element('li', { className: `light ${state}`, 'data-promise': id },
  element('span', { className: 'lamp', 'aria-hidden': 'true' }, { open: '·', void: '–', held: '✓', broke: '✗', wrong: '✗', lucky: '?' }[state]),
  element('span', { className: 'promise' }, name), element('span', { className: 'said' }, said));
