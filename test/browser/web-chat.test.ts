// The example of a chat on a web page, in Chromium: the page and its server on one origin, the
// service on another one, and between the page and the service a connection that is cut.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import { startServiceProcess } from '../servers/service-process.ts';
import { useBrowser } from './dashboard-rig.ts';

const ADMIN_KEY = 'hf_admin_key_of_the_tests';
const SERVER = resolve(import.meta.dirname, '../../examples/web-chat/server.mjs');
const browsing = useBrowser();

/** Passes connections on to a port, until it cuts them. */
async function startLine(toPort: number) {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(toPort, '127.0.0.1');
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => (near.destroy(), far.destroy()));
    }
    near.pipe(far).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut() {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    mend: () => (isCut = false),
  };
}

/** The server of the page. */
async function startPageServer(env: Record<string, string>): Promise<string> {
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const server = spawn(process.execPath, [SERVER], { env: { ...process.env, ...env }, stdio: [...stdio] });
  onTestFinished(async () => {
    server.kill();
    await once(server, 'exit');
  });
  const [line] = (await once(createInterface({ input: server.stdout! }), 'line')) as [string];
  return line.replace('listening on ', '');
}

test('a visitor of a page on another origin chats by a token, also over a connection that is cut (G32)', async () => {
  const database = await withTestDatabase();
  onTestFinished(() => database.drop());
  const dataDir = mkdtempSync(join(tmpdir(), 'holdfast-chat-'));
  onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
  const configPath = join(dataDir, 'holdfast.json');
  writeFileSync(configPath, '{}');
  const service = await startServiceProcess({
    env: {
      DATABASE_URL: database.url,
      HOLDFAST_DATA_DIR: dataDir,
      HOLDFAST_API_KEY: ADMIN_KEY,
      HOLDFAST_CONFIG: configPath,
    },
  });
  onTestFinished(async () => void (await service.end('SIGKILL')));
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };
    const answer = await fetch(service.url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) });
    expect(answer.ok).toBe(true);
    return (await answer.json()) as { id: string; key: string; items: { key: string }[] };
  };
  const line = await startLine(Number(new URL(service.url).port));
  const scope = { sessions: ['agent:main:shop:*'], limits: { messagesInFlight: 100 } };
  const { id, key } = await ask('POST', '/v1/keys', { name: 'shop', role: 'operator', ...scope });
  const env = { HOLDFAST_API_KEY: key, HOLDFAST_URL: service.url, HOLDFAST_PUBLIC_URL: line.url, PORT: '0' };
  const origin = await startPageServer(env);
  writeFileSync(configPath, JSON.stringify({ api: { origins: [origin] } }));
  await ask('PATCH', '/v1/config', { reload: true });

  const { page, requests } = await browsing.openWindow(origin, [line.url]);
  await page.goto(origin);
  const say = async (text: string): Promise<void> => {
    await page.getByRole('textbox', { name: 'Message' }).fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
  };
  const lines = page.getByRole('listitem');
  await say('Hello [[reply: Good day.]]');
  await lines.getByText('Agent: Good day.', { exact: true }).waitFor();

  const words = Array.from({ length: 60 }, (_, n) => `word${n}`).join(' ');
  await say(`Tell me all [[slow: 100]] [[reply: ${words}]]`);
  await lines.getByText('word2 ').waitFor();
  line.cut();
  await page.getByRole('alert').getByText('Connecting again').waitFor();
  line.mend();
  await lines.getByText(`Agent: ${words}`, { exact: true }).waitFor();
  const resumed = requests.filter(({ url }) => new URL(url).pathname === '/v1/events');
  expect(resumed.length).toBeGreaterThan(1);

  // The page that is loaded again shows the same, in the session of the same visitor.
  const shown = await lines.allTextContents();
  expect(shown).toHaveLength(4);
  await page.reload();
  await lines.getByText(`Agent: ${words}`, { exact: true }).waitFor();
  expect(await lines.allTextContents()).toEqual(shown);
  const { items } = await ask('GET', '/v1/sessions');
  expect(items.map((session) => session.key)).toEqual([expect.stringMatching(/^agent:main:shop:[0-9a-f-]{36}$/)]);

  // Without its key, the page ends at once and says what the visitor can do.
  await say(`Once more [[slow: 100]] [[reply: ${words}]]`);
  await lines.nth(5).getByText('word2 ').waitFor();
  await ask('DELETE', `/v1/keys/${id}`);
  await page.getByRole('alert').getByText('Load this page again to sign in').waitFor();
  expect(await page.getByRole('button', { name: 'Send' }).isDisabled()).toBe(true);
});
