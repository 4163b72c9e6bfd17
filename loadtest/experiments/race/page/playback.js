// Playback moves the moment that a viewport shows: by a button that plays the
// race slowly, and by a slider.
import { duration } from './axis.js';
import { number, strings } from './strings.js';

const speeds = [1, 3, 10, 30, 100, 300, 1000]; // times slower than it was
const preferred = 12_000; // the length of a playback, in milliseconds

export class Playback {
  #began = null;
  chosen = null; // a speed; null is the one that comes nearest to the preferred length

  constructor(viewport, { button, slider, moment, speed }) {
    Object.assign(this, { viewport, button, slider, moment, speed });
    button.addEventListener('click', () => this.playing ? this.stop() : this.play());
    slider.addEventListener('input', () => this.#scrub());
    speed.addEventListener('change', () => this.#setSpeed(Number(speed.value)));
    viewport.addEventListener('change', () => this.render());
  }

  get playing() { return this.#began !== null; }

  get slower() { return this.chosen ?? speeds.findLast(s => this.viewport.end / 1000 * s <= preferred) ?? 1; }

  // stop stops at the moment that is shown.
  stop() {
    this.#began = null;
    this.render();
  }

  // play plays from the moment that is shown, or from the start.
  play() {
    this.#begin();
    requestAnimationFrame(now => this.#frame(now));
  }

  render() {
    const { cursor, end } = this.viewport;
    this.button.textContent = this.playing ? strings.stop : strings.play;
    this.slider.value = Math.round((cursor ?? end) / end * 1000);
    this.moment.textContent = duration(cursor ?? end);
    this.slider.setAttribute('aria-valuetext', this.moment.textContent);
    const texts = speeds.map(s => s === 1 ? strings.realTime : strings.slower(number(s)));
    if (this.speed.options.length !== speeds.length || this.speed.options[0].text !== texts[0]) {
      this.speed.replaceChildren(...speeds.map((s, i) => new Option(texts[i], s)));
    }
    this.speed.value = this.slower;
  }

  #setSpeed(speed) {
    this.chosen = speed;
    if (this.playing) this.#begin();
    this.render();
  }

  #begin() { this.#began = performance.now() - (this.viewport.cursor ?? 0) / 1000 * this.slower; }

  #scrub() {
    this.#began = null;
    const at = Number(this.slider.value) / 1000;
    this.viewport.setCursor(at >= 1 ? null : at * this.viewport.end);
  }

  #frame(now) {
    if (!this.playing) return;
    const moment = Math.max(0, now - this.#began) / this.slower * 1000;
    const ended = moment >= this.viewport.end;
    if (ended) this.#began = null;
    this.viewport.setCursor(ended ? null : moment);
    if (!ended) requestAnimationFrame(next => this.#frame(next));
  }
}
