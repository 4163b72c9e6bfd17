// Names of settings, as people say them.
import { number, strings } from './strings.js';

const order = ['lock', 'lock_scope', 'guards', 'commit', 'instances', 'redis'];

// nameOf returns a side in a few words, like "Redis lock per user".
export function nameOf({ lock, lock_scope: scope }) {
  return lock === 'none' ? strings.noLock : strings.lockPer(strings.locks[lock] ?? lock, scope);
}

// chipsOf returns each setting as a text, and whether the other side has
// another value.
export function chipsOf(settings, other) {
  return order.filter(name => settings[name] !== undefined && settings[name] !== '').map(name => ({
    text: `${strings.chip[name]}: ${valueOf(name, settings[name])}`,
    differs: other !== undefined && String(settings[name]) !== String(other[name]),
  }));
}

// valueOf returns a setting's value as a text.
export function valueOf(name, value) {
  if (name === 'guards') return value.map(g => strings.guardNames[g] ?? g).join(' + ') || strings.none;
  if (name === 'lock' && value === 'none') return strings.none;
  return String(value);
}

// judgementOf says how many orders are expected, and what the difference is.
export function judgementOf({ ended, promises, counts, expected }) {
  if (!ended || promises.every(p => p.held)) return strings.expected(number(expected));
  const difference = Object.keys(strings.difference).filter(name => counts[name] > 0).map(name => strings.difference[name](number(counts[name])));
  return [strings.expected(number(expected)), ...difference].join(', ');
}
