// Playback moves the moment that a viewport shows: by a button that plays the
// race in slow motion, and by a slider.
import { duration } from './axis.js';
import { strings } from './strings.js';

const length = 10_000; // of a whole playback, in milliseconds

export class Playback {
  #began = null;

  constructor(viewport, { button, slider, moment }) {
    Object.assign(this, { viewport, button, slider, moment });
    button.addEventListener('click', () => this.playing ? this.stop() : this.#play());
    slider.addEventListener('input', () => this.#scrub());
    viewport.addEventListener('change', () => this.render());
  }

  get playing() { return this.#began !== null; }

  stop() {
    this.#began = null;
    this.render();
  }

  render() {
    const { cursor, end } = this.viewport;
    this.button.textContent = this.playing ? strings.stop : strings.play;
    this.slider.value = Math.round((cursor ?? end) / end * 1000);
    this.moment.textContent = duration(cursor ?? end);
    this.slider.setAttribute('aria-valuetext', this.moment.textContent);
  }

  #scrub() {
    this.#began = null;
    const at = Number(this.slider.value) / 1000;
    this.viewport.setCursor(at >= 1 ? null : at * this.viewport.end);
  }

  #play() {
    const { cursor, end } = this.viewport;
    this.#began = performance.now() - (cursor ?? 0) / end * length;
    requestAnimationFrame(now => this.#frame(now));
  }

  #frame(now) {
    if (!this.playing) return;
    const at = (now - this.#began) / length;
    if (at >= 1) this.#began = null;
    this.viewport.setCursor(at >= 1 ? null : at * this.viewport.end);
    if (this.playing) requestAnimationFrame(next => this.#frame(next));
  }
}
