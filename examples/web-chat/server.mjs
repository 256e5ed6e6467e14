// Serves a page with a chat. It has the key of Holdfast, which stays here, and gives each visitor
// a token for a session of their own.
//   HOLDFAST_API_KEY=hf_... node server.mjs
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const { HOLDFAST_API_KEY: key, HOLDFAST_URL = 'http://127.0.0.1:7420', PORT = '3000' } = process.env;
// Where browsers reach Holdfast: behind a proxy, another address than the one for this server.
const { HOLDFAST_PUBLIC_URL = HOLDFAST_URL } = process.env;
const page = readFileSync(new URL('index.html', import.meta.url));

const server = createServer((request, response) => {
  answer(request, response).catch(() => response.destroy());
});

async function answer(request, response) {
  if (request.method === 'POST' && request.url === '/token') return giveToken(request, response);
  response.setHeader('content-type', 'text/html; charset=utf-8');
  return request.url === '/' ? response.end(page) : response.writeHead(404).end();
}

async function giveToken(request, response) {
  // Use the account of the person instead where people sign in.
  const known = /(?:^|; )visitor=([\w-]{36})(?:;|$)/.exec(request.headers.cookie ?? '')?.[1];
  const visitor = known ?? randomUUID();
  const session = `agent:main:shop:${visitor}`;
  const made = await fetch(`${HOLDFAST_URL}/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ session, allow: ['send', 'read'], expiresInSeconds: 3600 }),
  });
  if (!made.ok) {
    process.stderr.write(`no token: ${await made.text()}\n`);
    // The page shows these words, unless the status says that it can try again (429, 5xx).
    const refusal = { detail: 'You are signed out. Load this page again to sign in.' };
    return response.writeHead(made.status).end(JSON.stringify(refusal));
  }
  const { token } = await made.json();
  return response
    .writeHead(200, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'set-cookie': `visitor=${visitor}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000`,
    })
    .end(JSON.stringify({ url: HOLDFAST_PUBLIC_URL, session, token }));
}

server.listen(Number(PORT), '127.0.0.1', () => {
  process.stdout.write(`listening on http://127.0.0.1:${server.address().port}\n`);
});
