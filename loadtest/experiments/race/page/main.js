// The page of a race: what is shown, what runs, and what the buttons do.
import { choiceIn, inAddress, setAddress } from './address.js';
import { duration } from './axis.js';
import { drawing, element, find, offer, setText } from './dom.js';
import { pageWith, raceIn } from './files.js';
import { headlineOf } from './outcome.js';
import { Playback } from './playback.js';
import { letters, Side } from './race.js';
import { sceneOf } from './scene.js';
import { follow, emptyPage, options, Problem, race as fetchRace, races, start } from './server.js';
import { Setup } from './setup.js';
import { SideView } from './side_view.js';
import { label, language, number, preferredLanguage, setLanguage, strings } from './strings.js';
import { historyTable, numbersTable } from './tables.js';
import { marks, verdicts, whenThemeChanges } from './theme.js';
import { Viewport } from './viewport.js';

const viewport = new Viewport();
const views = [...letters].map(letter => new SideView(letter, viewport));
const playback = new Playback(viewport, { button: find('#play'), slider: find('#scrub'), moment: find('#moment'), speed: find('#speed') });
let sides = []; // that are shown
let shown = []; // the same, as [race id, index]
let whole = null; // the race, if all are of one
let history = []; // the races that are kept
let setup = null; // null on a page that was saved
let phase = () => strings.phaseIdle; // says how far the race is
let running = false;

// show shows sides next to each other.
function show(list, ids) {
  [sides, shown, whole] = [list, ids, null];
  find('#sides').replaceChildren(...sides.map((_, i) => views[i].root));
  find('#sides').style.setProperty('--sides', sides.length);
  find('#sides').dataset.sides = sides.length;
  sides.forEach((side, i) => {
    side.letter = letters[i];
    views[i].show(side, sides.filter(other => other !== side));
  });
  playback.stop();
  viewport.setCursor(null);
  refresh();
  viewport.reset();
}

const shownViews = () => views.slice(0, sides.length);

// refresh shows what the sides have by now.
function refresh() {
  viewport.setEnd(Math.max(1, ...sides.map(s => s.derived.end)));
  for (const view of shownViews()) view.refresh();
  const any = sides.some(s => s.claims.size > 0);
  find('.toolbar').hidden = !any;
  find('#numbers').hidden = !any;
  numbersTable(find('#numbers-table'), sides, viewport.cursor);
  for (const id of ['play', 'scrub', 'zoom-in', 'zoom-out', 'zoom-reset', 'save-json', 'save-html']) find(`#${id}`).disabled = !any || running;
  showPhase();
}

function showPhase() {
  find('#phase').ariaLive = viewport.cursor === null ? 'polite' : 'off'; // not each moment of a playback
  setText(find('#phase'), phase());
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
  show(race.sides.map((_, i) => new Side(race, i)), race.sides.map((_, i) => [race.id, i]));
  whole = race;
  showEnvironment(race.environment);
}

// showRequest shows the sides of the next race before it runs.
function showRequest(request) {
  if (running || shown.length > 0) return;
  show(request.sides.map((_, i) => new Side(request, i)), []);
}

async function run(request) {
  try {
    const race = await start(request);
    watch(race);
  } catch (error) {
    setup.complain(error instanceof Problem ? error.document : { detail: strings.unreachable });
  }
}

// watch shows a race that is running, by its events.
function watch(race) {
  running = true;
  setup.show(race);
  setup.fold(true);
  setup.lock(true);
  showRace({ ...race, sides: race.sides.map(({ settings }) => ({ settings })) });
  setAddress({ race: race.id });
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
  const tell = {
    claim: ({ side, data }) => sides[side].add({ claims: [data] }),
    section: ({ side, data }) => sides[side].add({ sections: [data] }),
    sample: ({ side, data }) => sides[side].add({ samples: [data] }),
    side: ({ side, data }) => sides[side].conclude(data),
    state: ({ data: { phase: name } }) => setPhase(() => phaseText(name)),
    end: ({ data }) => ended(id, data),
  };
  follow(id, {
    events: list => {
      for (const event of list) tell[event.name](event);
      const { name, side } = list.at(-1);
      if (['claim', 'section', 'sample'].includes(name)) setPhase(() => progressText(side));
      later();
    },
    retry: () => setPhase(() => strings.reconnecting),
    lost: () => ended(id, { error: strings.unreachable }),
  });
}

function progressText(i) {
  const { workload } = sides[i];
  return strings.phaseProgress(letters[i], number(answered(sides[i])), number(workload.users * workload.claims_per_user));
}

function phaseText(name) {
  const [what, side] = name.split('_');
  return strings.phases[what]?.(letters[side]) ?? name;
}

// ended shows the whole race as the server has it, and plays it once.
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
  setPhase(() => error ? strings.failed(error) : sidesSummary());
  await showHistory();
  if (!error && !matchMedia('(prefers-reduced-motion: reduce)').matches) playback.play();
}

// sidesSummary says what had become of the sides at the moment that is shown.
const sidesSummary = () => sides.map(side => strings.chipText(side.letter, headlineOf(side, viewport.cursor).big) +
  (side.outcome === 'lucky' && viewport.cursor === null ? strings.headline.lucky : '')).join(strings.semicolon);

async function showHistory() {
  history = await races();
  renderHistory();
}

function renderHistory() {
  find('#history').hidden = history.length === 0;
  historyTable(find('#history-table'), history, shown, compare);
}

// compare shows any sides of the races that are kept.
async function compare(ids) {
  const of = new Map(await Promise.all([...new Set(ids.map(([id]) => id))].map(async id => [id, whole?.id === id ? whole : await fetchRace(id)])));
  const first = of.get(ids[0][0]);
  if (ids.length === first.sides.length && ids.every(([id, i], place) => id === first.id && i === place)) return showKept(first);
  show(ids.map(([id, i]) => new Side(of.get(id), i)), ids);
  setAddress({ race: null });
  setPhase(sidesSummary);
  renderHistory();
}

// showKept shows a race that has ended, and its choice in the form.
function showKept(race, choice = race) {
  setup.show(choice);
  setup.fold(true);
  showRace(race);
  setAddress({ race: race.id });
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
  return whole ?? { version: 4, id: shown.map(([id]) => id).join('+'), started: new Date().toISOString(), state: 'ended', error: '',
    environment: first.environment, workload: first.workload, sides };
}

async function openFile(file) {
  const race = raceIn(await file.text());
  if (!race) return setPhase(() => strings.notARace);
  showRace(race);
  shown = []; // it is no race of this server's, whatever its id
  setPhase(() => strings.phaseSaved(file.name));
  renderHistory();
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
    setAddress({ lang: language === 'zh' ? 'en' : 'zh' });
    setLanguage(preferredLanguage());
    render();
  };
  addEventListener('hashchange', () => location.reload());
  viewport.addEventListener('change', () => {
    find('#window').textContent = viewport.whole ? '' : `${duration(viewport.from)} – ${duration(viewport.to)}`;
  });
  viewport.addEventListener('moment', () => {
    numbersTable(find('#numbers-table'), sides, viewport.cursor);
    showPhase();
  });
  whenThemeChanges(() => views.forEach(view => view.setTheme()));
}

async function begin() {
  setLanguage(preferredLanguage());
  addButtons();
  window.scene = sceneOf(viewport, views);
  const saved = JSON.parse(find('#saved').textContent);
  render();
  if (saved) return beginSaved(saved);
  const choice = choiceIn(inAddress('choice'));
  const offered = await options();
  setup = new Setup(find('#setup'), offered, { changed: showRequest, start: run });
  showEnvironment(offered.environment);
  await showHistory();
  const isRunning = race => race?.state === 'starting' || race?.state === 'running';
  const found = isRunning(history[0]) ? history[0] : history.find(race => race.id === inAddress('race'));
  if (!found) return;
  const race = await fetchRace(found.id);
  if (isRunning(race)) watch(race);
  else showKept(race, choice ?? race);
}

function beginSaved(race) {
  find('#setup').hidden = true;
  find('#save-html').hidden = true;
  showRace(race);
  setPhase(() => strings.phaseSaved(new Date(race.started).toLocaleString(document.documentElement.lang)));
}

begin();
