// The address of the page has the language, the choice and the race that is shown
// after its #, so that a reload or a bookmark shows them again.

const values = () => new URLSearchParams(location.hash.slice(1));

export const inAddress = name => values().get(name);

// setAddress changes values of the address; null removes one.
export function setAddress(changes) {
  const all = values();
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) all.delete(name);
    else all.set(name, value);
  }
  history.replaceState(null, '', `#${all.toString().replaceAll('%2C', ',').replaceAll('%3B', ';')}`);
}

const workload = ['users', 'claims_per_user', 'stock', 'segments', 'pause_ms', 'per_user'];

// choiceText writes a request as text: the workload, then each side.
export const choiceText = request => [workload.map(name => request.workload[name]).join(),
  ...request.sides.map(s => [s.lock, s.lock_scope, s.guards.join('.'), s.commit, s.instances, s.redis, s.lease_ms, s.fault].join())].join(';');

// choiceIn returns the request that a text describes, or null. The server checks
// its values.
export function choiceIn(text) {
  const [first, ...sides] = (text ?? '').split(';').map(part => part.split(','));
  if (first.length !== workload.length || sides.length === 0 || sides.some(s => s.length !== 8)) return null;
  return {
    workload: Object.fromEntries(first.map((text, i) => [workload[i], Number(text)])),
    sides: sides.map(([lock, lock_scope, guards, commit, instances, redis, lease, fault]) => ({
      lock, lock_scope, guards: guards.split('.').filter(Boolean), commit, instances: Number(instances), redis, lease_ms: Number(lease), fault,
    })),
  };
}
