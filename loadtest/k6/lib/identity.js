// The users' tokens: signed with JWT_SECRET (or the content of JWT_SECRET_FILE) for
// JWT_ISSUER and JWT_AUDIENCE, if they are set, or
// read from the file TOKENS, one in a line, if the service's secret is not available.
import crypto from 'k6/crypto';
import encoding from 'k6/encoding';
import { SharedArray } from 'k6/data';

const secret = __ENV.JWT_SECRET_FILE ? open(__ENV.JWT_SECRET_FILE).trimEnd() : __ENV.JWT_SECRET;
const fileTokens = new SharedArray('tokens', () =>
  __ENV.TOKENS ? open(__ENV.TOKENS).split('\n').filter((line) => line !== '') : []);

const part = (value) => encoding.b64encode(JSON.stringify(value), 'rawurl');

function sign(claims) {
  if (!secret && __ENV.SHOP) return ''; // a shop may have no tokens
  if (!secret) throw new Error('set JWT_SECRET, or TOKENS and ADMIN_TOKEN');
  const exp = Math.floor(Date.now() / 1000) + 3600;
  const named = { iss: __ENV.JWT_ISSUER || undefined, aud: __ENV.JWT_AUDIENCE || undefined };
  const text = `${part({ alg: 'HS256', typ: 'JWT' })}.${part({ ...claims, ...named, exp })}`;
  return `${text}.${crypto.hmac('sha256', secret, text, 'base64rawurl')}`;
}

export const userToken = (user) =>
  fileTokens.length > 0 ? fileTokens[(user - 1) % fileTokens.length] : sign({ sub: String(user) });

export const adminToken = () => __ENV.ADMIN_TOKEN || sign({ sub: '1', role: 'admin' });
