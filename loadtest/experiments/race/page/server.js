// What the page asks of the server that serves it.

// Problem is an error with the server's problem document.
export class Problem extends Error {
  constructor(document) {
    super(document.detail ?? document.title);
    this.document = document;
  }
}

async function json(path, init) {
  const response = await fetch(path, init);
  const body = await response.json();
  if (!response.ok) throw new Problem(body);
  return body;
}

export const options = () => json('/options');
export const races = () => json('/races');
export const race = id => json(`/races/${encodeURIComponent(id)}`);
export const start = request => json('/races', {
  method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(request),
});

// emptyPage returns the self-contained page without a race.
export const emptyPage = async () => (await fetch('/race.html')).text();

const retries = 5; // until the server is taken for lost

// follow calls events with what happens in a running race, from its start to its end. retry
// is called when the connection is made again, lost when the server does not answer.
export function follow(id, { events, retry, lost }) {
  let failures = 0;
  const source = new EventSource(`/races/${encodeURIComponent(id)}/events`);
  source.addEventListener('message', ({ data }) => {
    const list = JSON.parse(data);
    if (list.at(-1).name === 'end') source.close();
    events(list);
  });
  source.addEventListener('open', () => { failures = 0; });
  source.addEventListener('error', () => {
    if (source.readyState !== EventSource.CLOSED && ++failures < retries) return retry();
    source.close();
    lost();
  });
}
