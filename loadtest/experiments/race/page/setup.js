// Setup is the form of the next race. While a race is shown it is folded to a line.
import { choiceIn, choiceText, inAddress, setAddress } from './address.js';
import { element, find } from './dom.js';
import { titleOf, valueOf } from './names.js';
import { inLanguage, strings } from './strings.js';

const choices = { lock: 'locks', lock_scope: 'scopes', commit: 'commits', instances: 'instances', redis: 'redis', lease_ms: 'leases', fault: 'faults' };
const numbers = ['instances', 'lease_ms'];

export class Setup {
  // options are what the server offers. changed is called with the request
  // after each change, start with it when the form is sent.
  constructor(form, options, { changed, start }) {
    Object.assign(this, { form, options, changed });
    this.request = choiceIn(inAddress('choice')) ?? structuredClone(options.presets[0]);
    form.addEventListener('input', event => this.#input(event));
    form.addEventListener('submit', event => {
      event.preventDefault();
      this.complain(null);
      start(this.request);
    });
    find('#unfold', form).onclick = () => this.fold(!this.folded);
    find('#add-side', form).onclick = () => this.#setSides([...this.request.sides, structuredClone(this.request.sides.at(-1))]);
    find('#remove-side', form).onclick = () => this.#setSides(this.request.sides.slice(0, -1));
    this.fold(false);
    this.render();
  }

  // show puts a race's choice into the form.
  show({ workload, sides }) {
    this.request = structuredClone({ workload, sides: sides.map(s => s.settings ?? s) });
    this.render();
  }

  // fold hides the fields, or shows them.
  fold(folded) {
    this.folded = folded;
    this.form.classList.toggle('is-folded', folded);
    find('#unfold', this.form).ariaExpanded = String(!folded);
  }

  // render fills the form in the present language.
  render() {
    const { presets, limits } = this.options;
    const names = [...presets.map(titleOf), strings.custom];
    find('#preset', this.form).replaceChildren(...names.map((name, i) => element('option', { value: i }, name)));
    find('#side-settings', this.form).replaceChildren(...this.request.sides.map((_, i) => this.#fieldset(i)));
    find('#add-side', this.form).disabled = this.request.sides.length >= limits.sides;
    find('#remove-side', this.form).disabled = this.request.sides.length <= 1;
    for (const [field, max] of Object.entries({ users: limits.users, claims_per_user: limits.claims, per_user: limits.per_user, stock: limits.stock, segments: limits.segments, pause_ms: limits.pause_ms })) {
      this.form.elements[`workload.${field}`].max = max;
    }
    this.#write();
  }

  // lock prevents a second start while a race is running.
  lock(running) {
    for (const [id, text] of [['#start', strings.start], ['#again', strings.again]]) {
      find(id, this.form).disabled = running;
      find(id, this.form).textContent = running ? strings.running : text;
    }
  }

  // complain shows a problem of the server, each error at its field.
  complain(problem) {
    for (const e of this.form.querySelectorAll('[aria-invalid]')) e.removeAttribute('aria-invalid');
    const errors = problem?.errors ?? [];
    for (const { field } of errors) this.#field(field)?.setAttribute('aria-invalid', 'true');
    if (problem) this.fold(false);
    if (errors.some(e => e.field?.startsWith('sides'))) find('details', this.form).open = true;
    const text = find('#problem', this.form);
    text.hidden = !problem;
    const known = problem && (strings.problems[problem.code] ?? problem.detail);
    text.textContent = problem ? [known, ...errors.map(e => strings.chipText(fieldName(e.field), inLanguage(e.message)))].filter(Boolean).join(strings.semicolon) : '';
  }

  #field(name) { return this.form.querySelector(`[name="${CSS.escape(name)}"]`); }

  #fieldset(i) {
    const selects = Object.entries(choices).map(([name, list]) => labelled(strings[name], element('select', { name: `sides.${i}.${name}` },
      ...this.options[list].map(value => element('option', { value }, valueOf(name, value))))));
    const guards = this.options.guards.map(guard => element('label', { className: 'check' },
      element('input', { type: 'checkbox', name: `sides.${i}.guards`, value: guard }), strings.guardNames[guard] ?? guard));
    return element('fieldset', {}, element('legend', {}, strings.sideSettings('ABCD'[i])), ...selects,
      element('div', { role: 'group', 'aria-label': strings.guards, className: 'guards' }, ...guards));
  }

  #setSides(sides) {
    this.request.sides = sides;
    this.render();
  }

  #write() {
    const { workload, sides } = this.request;
    for (const [name, value] of Object.entries(workload)) this.form.elements[`workload.${name}`].value = value;
    sides.forEach((side, i) => {
      for (const name of Object.keys(choices)) this.form.elements[`sides.${i}.${name}`].value = side[name];
      for (const box of this.form.querySelectorAll(`[name="sides.${i}.guards"]`)) box.checked = side.guards.includes(box.value);
    });
    const text = choiceText(sorted(this.request));
    const same = this.options.presets.findIndex(p => choiceText(sorted(p)) === text);
    find('#preset', this.form).value = same < 0 ? this.options.presets.length : same;
    find('.choice', this.form).textContent = titleOf(this.request);
    setAddress({ choice: choiceText(this.request) });
    this.changed(this.request);
  }

  #input({ target }) {
    if (target.id === 'preset') return this.show(this.options.presets[target.value] ?? this.request);
    this.#read();
    this.#write();
  }

  #read() {
    const { elements } = this.form;
    for (const name of Object.keys(this.request.workload)) this.request.workload[name] = Number(elements[`workload.${name}`].value);
    this.request.sides.forEach((side, i) => {
      for (const name of Object.keys(choices)) side[name] = numbers.includes(name) ? Number(elements[`sides.${i}.${name}`].value) : elements[`sides.${i}.${name}`].value;
      side.guards = [...this.form.querySelectorAll(`[name="sides.${i}.guards"]`)].filter(box => box.checked).map(box => box.value);
    });
  }
}

const sorted = ({ workload, sides }) => ({ workload, sides: sides.map(s => ({ ...s, guards: [...s.guards].sort() })) });

// fieldName says which field an error is about, like "side B, lock".
function fieldName(field) {
  const [, side, name] = field.match(/^sides\.(\d)\.(\w+)$/) ?? [];
  if (side) return strings.sideField(strings.sideSettings('ABCD'[side]), strings[name]);
  return strings[{ users: 'users', claims_per_user: 'claimsPerUser', per_user: 'perUser', stock: 'stock', segments: 'segments', pause_ms: 'pause' }[field.split('.')[1]]] ?? field;
}

const labelled = (text, control) => element('label', {}, element('span', {}, text), control);
