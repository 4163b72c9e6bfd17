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

// complete adds what sides had not before they had a lease and a fault.
export const complete = side => ({ lease_ms: 30000, fault: 'none', ...side });

// wholeWorkload adds what a workload had not before it had segments and a limit.
export const wholeWorkload = workload => ({ segments: 1, ...workload, per_user: workload.per_user || 1 });

// choiceIn returns the request that a text describes, or null. The server checks
// its values.
export function choiceIn(text) {
  const [first, ...sides] = (text ?? '').split(';').map(part => part.split(','));
  if (![5, workload.length].includes(first.length) || sides.length === 0 || sides.some(s => ![6, 8].includes(s.length))) return null;
  return {
    workload: wholeWorkload(Object.fromEntries(first.map((text, i) => [workload[i], Number(text)]))),
    sides: sides.map(([lock, lock_scope, guards, commit, instances, redis, lease, fault]) => complete({
      lock, lock_scope, guards: guards.split('.').filter(Boolean), commit, instances: Number(instances), redis,
      ...fault && { lease_ms: Number(lease), fault },
    })),
  };
}
