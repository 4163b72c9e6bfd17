// Setup is the form of the next race.
import { element, find } from './dom.js';
import { nameOf, valueOf } from './names.js';
import { strings } from './strings.js';

const choices = { lock: 'locks', lock_scope: 'scopes', commit: 'commits', instances: 'instances', redis: 'redis' };

export class Setup {
  // options are what the server offers. changed is called with the request
  // after each change, start with it when the form is sent.
  constructor(form, options, { changed, start }) {
    Object.assign(this, { form, options, changed });
    this.request = structuredClone(options.presets[0]);
    form.addEventListener('input', event => this.#input(event));
    form.addEventListener('submit', event => {
      event.preventDefault();
      this.complain(null);
      start(this.value());
    });
    this.render();
  }

  // render fills the form in the present language.
  render() {
    const { presets, limits } = this.options;
    const names = [...presets.map(presetName), strings.custom];
    find('#preset', this.form).replaceChildren(...names.map((name, i) => element('option', { value: i }, name)));
    find('#side-settings', this.form).replaceChildren(...[0, 1].map(i => this.#fieldset(i)));
    for (const [field, max] of Object.entries({ users: limits.users, claims_per_user: limits.claims, stock: limits.stock, pause_ms: limits.pause_ms })) {
      this.form.elements[`workload.${field}`].max = max;
    }
    this.#write();
  }

  // value returns the request that the form describes.
  value() {
    const { workload, sides } = this.request;
    return { workload, sides };
  }

  // lock prevents a second start while a race is running.
  lock(running) {
    const start = find('#start', this.form);
    start.disabled = running;
    start.textContent = running ? strings.running : strings.start;
  }

  // complain shows a problem of the server, each error at its field.
  complain(problem) {
    for (const e of this.form.querySelectorAll('[aria-invalid]')) e.removeAttribute('aria-invalid');
    const errors = problem?.errors ?? [];
    for (const { field } of errors) this.#field(field)?.setAttribute('aria-invalid', 'true');
    if (errors.some(e => e.field?.startsWith('sides'))) find('details', this.form).open = true;
    const text = find('#problem', this.form);
    text.hidden = !problem;
    text.textContent = problem ? [problem.detail, ...errors.map(e => `${e.field}: ${e.message}`)].filter(Boolean).join(' · ') : '';
  }

  #field(name) { return this.form.querySelector(`[name="${CSS.escape(name)}"]`); }

  #fieldset(i) {
    const selects = Object.entries(choices).map(([name, list]) => labelled(strings[name], element('select', { name: `sides.${i}.${name}` },
      ...this.options[list].map(value => element('option', { value }, valueOf(name, value))))));
    const guards = this.options.guards.map(guard => element('label', { className: 'check' },
      element('input', { type: 'checkbox', name: `sides.${i}.guards`, value: guard }), strings.guardNames[guard] ?? guard));
    return element('fieldset', {}, element('legend', {}, strings.sideSettings('AB'[i])), ...selects,
      element('div', { role: 'group', 'aria-label': strings.guards, className: 'guards' }, ...guards));
  }

  #write() {
    const { workload, sides } = this.request;
    for (const [name, value] of Object.entries(workload)) this.form.elements[`workload.${name}`].value = value;
    sides.forEach((side, i) => {
      for (const name of Object.keys(choices)) this.form.elements[`sides.${i}.${name}`].value = side[name];
      for (const box of this.form.querySelectorAll(`[name="sides.${i}.guards"]`)) box.checked = side.guards.includes(box.value);
    });
    const same = this.options.presets.findIndex(p => JSON.stringify(choiceOf(p)) === JSON.stringify(choiceOf(this.request)));
    find('#preset', this.form).value = same < 0 ? this.options.presets.length : same;
    this.changed(this.value());
  }

  #input({ target }) {
    if (target.id === 'preset') this.request = structuredClone(this.options.presets[target.value] ?? this.request);
    else this.#read();
    this.#write();
  }

  #read() {
    const { elements } = this.form;
    for (const name of Object.keys(this.request.workload)) this.request.workload[name] = Number(elements[`workload.${name}`].value);
    this.request.sides.forEach((side, i) => {
      for (const name of Object.keys(choices)) side[name] = name === 'instances' ? Number(elements[`sides.${i}.${name}`].value) : elements[`sides.${i}.${name}`].value;
      side.guards = [...this.form.querySelectorAll(`[name="sides.${i}.guards"]`)].filter(box => box.checked).map(box => box.value);
    });
  }
}

const choiceOf = ({ workload, sides }) => [workload.users, workload.claims_per_user, workload.stock, workload.pause_ms,
  ...sides.flatMap(s => [s.lock, s.lock_scope, [...s.guards].sort().join(), s.commit, s.instances, s.redis])];

const labelled = (text, control) => element('label', {}, element('span', {}, text), control);

const presetName = preset => (strings.otherLanguage === 'English' && preset.name_zh) || preset.name || preset.sides.map(nameOf).join(' | ');
