// Viewport is the part of the time axis that all pictures of a page show, in
// microseconds, and the moment up to which they show it. It dispatches
// "change", and "moment" when the moment is another one.
export class Viewport extends EventTarget {
  #end = 1;
  start = 0; // of the time axis
  from = 0;
  to = 1;
  cursor = null; // shows everything

  get end() { return this.#end; }
  get whole() { return this.from === 0 && this.to === this.#end; }
  get span() { return this.to - this.from; }

  // setEnd sets the length of the time axis. A viewport that showed the whole
  // axis still does.
  setEnd(end) {
    const whole = this.whole;
    this.#end = Math.max(1, end);
    if (whole) this.show(0, this.#end);
    else this.show(this.from, this.to);
  }

  // show shows the given part, or what of it is on the axis.
  show(from, to) {
    const span = Math.min(Math.max(to - from, Math.min(minimum, this.#end)), this.#end);
    this.from = Math.min(Math.max(this.start, from), this.#end - span);
    this.to = this.from + span;
    this.#changed();
  }

  // zoom shows factor times as much. The moment centre stays where it is.
  zoom(factor, centre = (this.from + this.to) / 2) {
    const before = (centre - this.from) * factor;
    this.show(centre - before, centre - before + this.span * factor);
  }

  pan(delta) { this.show(this.from + delta, this.to + delta); }

  reset() { this.show(0, this.#end); }

  // setCursor shows the state at a moment, or with null at the end.
  setCursor(moment) {
    this.cursor = moment === null ? null : Math.min(Math.max(0, moment), this.#end);
    this.#changed();
    this.dispatchEvent(new Event('moment'));
  }

  #changed() { this.dispatchEvent(new Event('change')); }
}

const minimum = 50; // the shortest part that is shown, in microseconds
