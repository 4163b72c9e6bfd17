// Names of settings, as people say them, and of what a lock sends to its server.
import { number, strings } from './strings.js';

const order = ['guards', 'commit', 'instances', 'fault', 'lease_ms', 'redis'];
const usual = { fault: 'none', lease_ms: 30000 };

// nameOf returns a side in a few words, like "Redis lock per user".
export function nameOf({ lock, lock_scope: scope }) {
  return lock === 'none' ? strings.locks.none : strings.lockPer(strings.locks[lock] ?? lock, scope);
}

// titleOf names a race: what differs between its sides, then what they share.
export function titleOf({ workload, sides }) {
  const { users, claims_per_user: each, per_user: limit, segments } = workload;
  const names = [nameOf, s => strings.commits[s.commit] ?? s.commit, guardsOf, faultOf];
  const differ = names.filter(name => new Set(sides.map(name)).size > 1);
  const shared = names.filter(name => !differ.includes(name) && name !== names[1] && (name !== faultOf || sides[0].fault && sides[0].fault !== 'none')).map(name => name(sides[0]));
  const title = sides.map(side => differ.map(name => name(side)).join(' + ') || nameOf(side)).join(' | ');
  return [title, strings.claims(number(users), number(each)), limit > 1 && strings.limitOf(number(limit)), segments > 1 && strings.segmentsOf(number(segments)), ...shared].filter(Boolean).join(' · ');
}

const faultOf = ({ fault }) => strings.faults[fault ?? 'none'];

function guardsOf({ guards }) {
  const missing = ['stock', 'unique'].filter(g => !guards.includes(g));
  return missing.map(g => strings.withoutGuard[g]).join(strings.comma) || strings.allGuards;
}

// chipsOf returns the settings beside the lock and its scope as texts, and whether
// another side has another value.
export function chipsOf(settings, others) {
  const names = ['redis', 'redisson'].includes(settings.lock) ? order : order.slice(0, -1);
  return names.filter(name => settings[name] && settings[name] !== usual[name]).map(name => ({
    text: strings.chipText(strings.chip[name], valueOf(name, settings[name])),
    differs: others.some(other => String(settings[name]) !== String(other[name])),
  }));
}

// valueOf returns a setting's value as a text.
export function valueOf(name, value) {
  if (name === 'guards') return value.map(g => strings.guardNames[g] ?? g).join(' + ') || strings.none;
  if (name === 'fault') return strings.faults[value] ?? value;
  if (name === 'lease_ms') return `${value / 1000} s`;
  return strings.values[name]?.[value] ?? (name === 'lock' ? strings.locks[value] : undefined) ?? String(value);
}

// keyName returns a key as the lock's server has it. Without a lock nothing has a
// name, and a mutex is of one instance.
export function keyName(lock, key) {
  switch (lock) {
    case 'none': return subject(key);
    case 'local': return strings.mutexOf(subject(key));
    case 'mysql': return `locks.name = '${key}'`;
    case 'getlock': return `GET_LOCK(SHA2('…/${key}'))`;
    case 'zk': return `/locks/${key}`;
    case 'etcd': return `lock/${key}`;
    default: return key;
  }
}

// subject says whose key it is, like "user 7".
function subject(key) {
  const [, kind, id, , segment] = key.match(/(user|coupon)Id:(\d+)(:segment:(\d+))?/) ?? [];
  if (!kind) return key;
  return segment ? strings.subjects.segment(segment) : strings.subjects[kind](id);
}

// commandsOf returns what a lock sends to take a key and to release it.
export function commandsOf({ lock, lease_ms: lease = 30000 }, key) {
  const release = [`EVALSHA batch.lua: GET ${key} = token → DEL, PUBLISH`];
  return {
    redis: [`EVALSHA batch.lua: SET ${key} token NX GET PX ${lease}`, ...release],
    redlock: [`EVALSHA batch.lua: SET ${key} token NX GET PX ${lease} → 3/5`, ...release],
    redisson: [`EVALSHA rlock_acquire.lua: HSET ${key} owner 1, PEXPIRE ${lease}`, 'EVALSHA rlock_release.lua: DEL, PUBLISH'],
    mysql: [`INSERT INTO locks (name, owner, fence, expires_at) … ON DUPLICATE KEY UPDATE`, `UPDATE locks SET owner = '' WHERE name = '${key}'`],
    getlock: [`SELECT GET_LOCK(SHA2(CONCAT(DATABASE(), '/', '${key}'), 256), 0)`, 'SELECT RELEASE_LOCK(SHA2(…, 256))'],
    zk: [`create -s -e /locks/${key}/…lock-`, `delete /locks/${key}/…lock-0000000000`],
    etcd: [`txn: "lock/${key} " = ∅ → put, lease ${lease / 1000} s`, 'txn: create_revision → del'],
    memcache: [`add ${key} 0 ${lease / 1000 + 1} token`, 'gets, cas … -1'],
  }[lock] ?? [];
}
