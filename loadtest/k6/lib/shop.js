// How to claim at a shop and how to read its replies, in the words of the files of make judge (docs/judge.md).
import http from 'k6/http';

// This repository's service. A refusal has the code that its body has at reply.code.
export const flashsale = {
  claim: { method: 'POST', url: '/coupons/{{coupon}}/orders?number={{number}}', headers: { Authorization: 'Bearer {{token}}' } },
  warm_up: { url: '/coupons/{{coupon}}', headers: { Authorization: 'Bearer {{token}}' } },
  reply: {
    accepted: { status: [201] }, refused: { status: [409] }, order: { pointer: '/id' }, code: { pointer: '/code' },
  },
};

const fill = (template, values) => template.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, name) => values[name] ?? '');

// send sends a request of a shop. It follows no redirect.
export function send(base, { method, url, headers = {}, body, form }, values, name) {
  const filled = (all) => Object.fromEntries(Object.entries(all).map(([key, value]) => [key, fill(value, values)]));
  const address = fill(url, values);
  const content = form ? filled(form) : body ? fill(body, values) : null; // k6 encodes a form
  return http.request(method || (content ? 'POST' : 'GET'), address.startsWith('/') ? base + address : address,
    content, { headers: filled(headers), redirects: 0, tags: { name }, timeout: '60s' });
}

// read says what a reply to a claim means: accepted, with the order's id, refused (or the code of the refusal), or unknown.
export function read(reply, { status, body, error }) {
  const text = body || '';
  const order = given(reply.order) ? extract(reply.order, text) : '';
  const accepted = order !== undefined && matches(reply.accepted, status, text);
  const refused = matches(reply.refused, status, text);
  if (accepted === refused) return { verdict: 'unknown', detail: status ? `status ${status}` : `no reply: ${error}` };
  return accepted ? { verdict: 'accepted', order } : { verdict: extract(reply.code, text) ?? 'refused' };
}

const given = (rule) => rule && (rule.pointer || rule.matches);

function matches(condition, status, text) {
  if (!condition || !(condition.status || given(condition))) return false;
  return (!condition.status || condition.status.includes(status)) && extract(condition, text) !== undefined;
}

// extract returns a part of a body, or undefined without that part or without a rule.
function extract(rule, text) {
  if (!rule) return undefined;
  const part = rule.pointer ? at(rule.pointer, text) : text;
  if (part === undefined || !rule.matches) return part;
  const found = new RegExp(rule.matches).exec(part);
  return found ? found[1] ?? found[0] : undefined;
}

// at returns the value at a JSON pointer as text. Integers that are too long for a number keep their digits.
export function at(pointer, text) {
  let value;
  try {
    value = JSON.parse(text.replace(/"(?:[^"\\]|\\.)*"|[-\d][-+.\deE]*/g,
      (token) => /^-?\d{16,}$/.test(token) ? `"${token}"` : token));
  } catch {
    return undefined;
  }
  for (const token of pointer.split('/').slice(1)) value = value?.[token.replace(/~1/g, '/').replace(/~0/g, '~')];
  if (value === undefined || value === null) return undefined;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
