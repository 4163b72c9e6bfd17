// The page of a race: what is shown, what runs, and what the buttons do.
import { duration } from './axis.js';
import { drawing, element, find, offer } from './dom.js';
import { pageWith, raceIn } from './files.js';
import { judgementOf } from './names.js';
import { Playback } from './playback.js';
import { Side } from './race.js';
import { sceneOf } from './scene.js';
import { follow, emptyPage, options, Problem, race as fetchRace, races, start } from './server.js';
import { Setup } from './setup.js';
import { SideView } from './side_view.js';
import { label, language, number, preferredLanguage, setLanguage, strings } from './strings.js';
import { historyTable, numbersTable } from './tables.js';
import { marks, verdicts, whenThemeChanges } from './theme.js';
import { Viewport } from './viewport.js';

const viewport = new Viewport();
const views = ['A', 'B'].map(letter => new SideView(letter, viewport));
const playback = new Playback(viewport, { button: find('#play'), slider: find('#scrub'), moment: find('#moment') });
let sides = []; // that are shown
let shown = []; // the same, as [race id, index]
let whole = null; // the race, if both are of one
let history = []; // the session's races
let setup = null; // null on a page that was saved
let phase = () => strings.phaseIdle; // says how far the race is
let running = false;

// show shows two sides.
function show(list, ids) {
  [sides, shown, whole] = [list, ids, null];
  sides.forEach((side, i) => {
    side.letter = 'AB'[i];
    views[i].show(side, sides[1 - i]);
  });
  playback.stop();
  viewport.setCursor(null);
  refresh();
  viewport.reset();
}

// refresh shows what the sides have by now.
function refresh() {
  viewport.setEnd(Math.max(1, ...sides.map(s => s.derived.end)));
  for (const view of views) view.refresh();
  const any = sides.some(s => s.claims.size > 0);
  find('.toolbar').hidden = !any;
  find('#numbers').hidden = !any;
  numbersTable(find('#numbers-table'), sides);
  for (const id of ['play', 'scrub', 'zoom-in', 'zoom-out', 'zoom-reset', 'save-json', 'save-html']) find(`#${id}`).disabled = !any || running;
  showPhase();
}

function showPhase() {
  find('#phase').textContent = phase();
  const bar = find('#progress');
  bar.hidden = !running;
  const all = sides.reduce((sum, s) => sum + s.workload.users * s.workload.claims_per_user, 0);
  bar.value = all ? sides.reduce((sum, s) => sum + answered(s), 0) / all : 0;
}

const answered = side => side.claims.size - (side.derived.verdicts.in_flight ?? 0);

function setPhase(text) {
  phase = text;
  showPhase();
}

function showRace(race) {
  show([0, 1].map(i => new Side(race, i)), [[race.id, 0], [race.id, 1]]);
  whole = race;
  showEnvironment(race.environment);
}

// showRequest shows the sides of the next race before it runs.
function showRequest({ workload, sides }) {
  if (running || shown.length > 0) return;
  show([0, 1].map(i => new Side({ workload, sides }, i)), []);
}

async function run(request) {
  try {
    const race = await start(request);
    watch(race);
  } catch (error) {
    setup.complain(error instanceof Problem ? error.document : { detail: strings.unreachable });
  }
}

// watch shows a race that is running.
function watch(race) {
  running = true;
  setup.lock(true);
  showRace(race);
  setPhase(() => strings.phases.servers);
  followRace(race.id);
}

function followRace(id) {
  let waiting = false;
  const later = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => {
      waiting = false;
      if (running) refresh();
    }, matchMedia('(prefers-reduced-motion: reduce)').matches ? 1000 : 100);
  };
  follow(id, {
    batch: batch => {
      sides[batch.side].add(batch);
      if (!batch.replay) setPhase(() => progressText(batch.side));
      later();
    },
    side: result => {
      sides[result.side].conclude(result);
      later();
    },
    state: ({ phase: name, error }) => setPhase(() => error ? strings.failed(error) : strings.phases[name] ?? name ?? ''),
    retry: () => setPhase(() => strings.reconnecting),
    end: progress => ended(id, progress),
    lost: () => ended(id, { error: strings.unreachable }),
  });
}

function progressText(i) {
  const { workload } = sides[i];
  return strings.phaseProgress('AB'[i], number(answered(sides[i])), number(workload.users * workload.claims_per_user));
}

// ended shows the whole race as the server has it.
async function ended(id, { error }) {
  running = false;
  setup.lock(false);
  try {
    const race = await fetchRace(id);
    error ||= race.error;
    showRace(race);
  } catch (failure) {
    error ||= failure.message;
  }
  if (error) setup.complain({ detail: strings.failed(error) });
  setPhase(() => error ? strings.failed(error) : `${strings.phaseEnded} ${sidesSummary()}`);
  await showHistory();
}

const summary = side => `${side.letter}: ${strings.orders(number(side.counts?.orders ?? 0))}, ${judgementOf(side)}.`;

const sidesSummary = () => sides.map(summary).join(' ');

async function showHistory() {
  history = await races();
  renderHistory();
}

function renderHistory() {
  find('#history').hidden = history.length === 0;
  historyTable(find('#history-table'), history, shown, compare);
}

// compare shows any two sides of the session's races.
async function compare(ids) {
  const found = await Promise.all(ids.map(async ([id, i]) => new Side(await fetchRace(id), i)));
  show(found, ids);
  setPhase(sidesSummary);
  renderHistory();
}

function showEnvironment(environment) {
  find('#environment').hidden = !environment;
  if (!environment) return;
  const { commit, machine = {}, versions = {}, durability = {} } = environment;
  const facts = { commit: commit?.slice(0, 12), cpu: machine.cpu, cores: machine.cores, memory: machine.mem, ...versions, ...durability };
  find('#environment-list').replaceChildren(...Object.entries(facts).filter(([, v]) => v).map(([name, value]) =>
    element('div', {}, element('dt', {}, name), element('dd', {}, String(value)))));
}

// shownRace returns what is shown as one race.
function shownRace() {
  const [first] = sides;
  return whole ?? { version: 1, id: shown.map(([id]) => id).join('-'), started: new Date().toISOString(), state: 'ended', error: '',
    environment: first.environment, workload: first.workload, sides };
}

async function openFile(file) {
  const race = raceIn(await file.text());
  if (!race) return setPhase(() => strings.notARace);
  showRace(race);
  setPhase(() => strings.phaseSaved(file.name));
}

function renderLegend() {
  const items = [...verdicts].reverse().map(v => element('li', {}, drawing(marks[v], v), strings.verdicts[v]));
  const bars = [['section', strings.section], ['overlap', strings.overlap]].map(([name, text]) => element('li', {}, element('i', { className: `swatch ${name}` }), text));
  find('#legend').replaceChildren(...items, ...bars);
}

function render() {
  label(document);
  renderLegend();
  setup?.render();
  setup?.lock(running);
  playback.render();
  if (sides.length > 0) refresh();
  renderHistory();
}

function addButtons() {
  find('#zoom-in').onclick = () => viewport.zoom(1 / 1.5);
  find('#zoom-out').onclick = () => viewport.zoom(1.5);
  find('#zoom-reset').onclick = () => viewport.reset();
  find('#open').onclick = () => find('#file').click();
  find('#file').onchange = ({ target }) => target.files[0] && openFile(target.files[0]);
  find('#save-json').onclick = () => offer('race.json', 'application/json', JSON.stringify(shownRace()));
  find('#save-html').onclick = async () => offer('race.html', 'text/html', pageWith(await emptyPage(), shownRace()));
  find('#language').onclick = () => {
    location.hash = `lang=${language === 'zh' ? 'en' : 'zh'}`;
  };
  addEventListener('hashchange', () => {
    setLanguage(preferredLanguage());
    render();
  });
  viewport.addEventListener('change', () => {
    find('#window').textContent = `${duration(viewport.from)} – ${duration(viewport.to)}`;
  });
  whenThemeChanges(() => views.forEach(view => view.setTheme()));
}

async function begin() {
  setLanguage(preferredLanguage());
  find('#sides').append(...views.map(view => view.root));
  addButtons();
  window.scene = sceneOf(viewport, views);
  const saved = JSON.parse(find('#saved').textContent);
  render();
  if (saved) return beginSaved(saved);
  const offered = await options();
  setup = new Setup(find('#setup'), offered, { changed: showRequest, start: run });
  showEnvironment(offered.environment);
  await showHistory();
  const latest = history[0];
  if (latest?.state === 'starting' || latest?.state === 'running') watch(await fetchRace(latest.id));
}

function beginSaved(race) {
  find('#setup').hidden = true;
  find('#save-html').hidden = true;
  showRace(race);
  setPhase(() => strings.phaseSaved(new Date(race.started).toLocaleString(document.documentElement.lang)));
}

begin();
