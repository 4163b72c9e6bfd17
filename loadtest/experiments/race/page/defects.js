// Defects shows an earlier generation of a lock under the fault that breaks it, next
// to those that hold.
import { inAddress, setAddress } from './address.js';
import { element, find } from './dom.js';
import { LanesBand } from './lanes_band.js';
import { runDefect } from './server.js';
import { strings } from './strings.js';
import { Timeline } from './timeline.js';
import { Viewport } from './viewport.js';

export class Defects {
  #trials = [];
  #timelines = [];

  // list are the defects that the server offers.
  constructor(root, list) {
    Object.assign(this, { root, list });
    root.hidden = false;
    this.chosen = Math.max(0, list.findIndex((_, i) => String(i) === inAddress('defect')));
    find('select', root).onchange = ({ target }) => this.#choose(Number(target.value));
    find('button', root).onclick = () => this.#run();
    this.render();
  }

  // render shows the texts in the present language.
  render() {
    const select = find('select', this.root);
    select.replaceChildren(...this.list.map((d, i) => new Option(strings.defect(d.defect), i)));
    select.value = this.chosen;
    const { fault, generations } = this.list[this.chosen];
    find('.fault', this.root).textContent = strings.faultText(strings.defect(fault), generations.map(strings.trial).join(' | '));
    this.#showTrials();
  }

  setTheme() { for (const timeline of this.#timelines) timeline.setTheme(); }

  #choose(n) {
    this.chosen = n;
    this.#trials = [];
    setAddress({ defect: n });
    this.render();
  }

  async #run() {
    const button = find('button', this.root);
    button.disabled = true;
    button.textContent = strings.running;
    find('.problem', this.root).hidden = true;
    try {
      this.#trials = (await runDefect(this.chosen)).map(trial => ({ ...trial, lanes: trial.lanes.map(lane => ({ ...lane, Spans: lane.Spans ?? [] })) }));
      this.#showTrials();
    } catch (error) {
      find('.problem', this.root).hidden = false;
      find('.problem', this.root).textContent = strings.problems[error.document?.code] ?? error.message;
    }
    button.disabled = false;
    button.textContent = strings.runDefect;
  }

  #showTrials() {
    const figures = this.#trials.map(trial => {
      const verdict = trial.broke ? trial.expect === 'break' ? 'broke' : 'wrong' : trial.expect === 'hold' ? 'held' : 'lucky';
      const lamp = element('span', { className: 'lamp', 'aria-hidden': 'true' }, trial.broke ? '✗' : verdict === 'held' ? '✓' : '?');
      return element('figure', { className: `trial light ${verdict}` }, lamp, element('span', { className: 'promise' }, strings.trial(trial.generation)),
        element('span', { className: 'said' }, strings.with(strings.judged[verdict], strings.trial(trial.seen))),
        element('canvas', { role: 'img', 'aria-label': strings.with(strings.trial(trial.generation), strings.trial(trial.seen)) }));
    });
    find('.trials', this.root).replaceChildren(...figures);
    this.#timelines = this.#trials.map(({ lanes }, i) => timelineOf(find('canvas', figures[i]), lanes));
  }
}

// timelineOf draws the lanes of a trial, with room for their names at the left.
function timelineOf(canvas, lanes) {
  const viewport = new Viewport();
  const spans = lanes.flatMap(lane => lane.Spans);
  const [from, to] = [Math.min(...spans.map(s => s.From)), Math.max(...spans.map(s => s.To))].map(ms => ms * 1000);
  const span = Math.max(100, to - from);
  viewport.start = from - span;
  viewport.setEnd(to + span);
  viewport.show(from - span * 0.2, to + span * 0.05);
  const timeline = new Timeline(canvas, viewport);
  timeline.setBands([new LanesBand({ title: '', lanes, nameOf: strings.trial })]);
  return timeline;
}
