// The browser of sessions: `@playwright/mcp` with a real Chromium, and pages of a server on
// loopback that the configuration allows.
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import sparticuz from '@sparticuz/chromium';
import { expect, onTestFinished, test } from 'vitest';
import { listServers } from '../../../src/features/mcp/views.ts';
import { rigWith } from './mcp-rig.ts';

/**
 * A server whose pages show the cookie that they have set before, and that counts the requests for
 * what a page must not reach.
 */
async function startPages() {
  const requests: string[] = [];
  const server = createServer(({ url = '', headers }, response) => {
    requests.push(url);
    const body = `<title>Page</title><p>cookie: ${headers.cookie ?? 'none'}</p><button>Press</button>`;
    response.writeHead(200, { 'content-type': 'text/html', 'set-cookie': 'visited=yes' }).end(body);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  onTestFinished(() => server.closeAllConnections());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { host, url: `http://${host}`, requests };
}

async function browserRig(allowPrivate: string[]) {
  const browser = { enabled: true, executablePath: await sparticuz.executablePath() };
  const rig = await rigWith({}, { settings: { tools: { browser, fetch: { allowPrivate } } } });
  const states = async () => (await listServers(rig.config, rig.database.views)).map(({ state }) => state);
  await expect.poll(() => rig.round().then(states), { timeout: 120_000 }).toEqual(['connected']);
  return rig;
}

type Rig = Awaited<ReturnType<typeof browserRig>>;

async function use(rig: Rig, session: string, tool: string, input: object = {}) {
  const [result] = await rig.call([{ tool: `browser__browser_${tool}`, input }], session);
  if (result === undefined) throw new Error('There is no result.');
  return result;
}

/** Opens a page, and returns what the model reads of it. */
async function open(rig: Rig, session: string, url: string): Promise<string> {
  const opened = await use(rig, session, 'navigate', { url });
  return `${opened.text}\n${(await use(rig, session, 'snapshot')).text}`;
}

const NEW = '[The browser of this session has just started';

test('each session has a browser of its own; pages inside are refused, and a lost browser is said to be lost', async () => {
  const [pages, other] = [await startPages(), await startPages()];
  const rig = await browserRig([pages.host]);
  const opened = await open(rig, 'one', pages.url);
  expect(opened).toContain(NEW);
  expect(opened).toContain('cookie: none');
  const again = await open(rig, 'one', pages.url);
  expect(again).toContain('cookie: visited=yes');
  expect(again).not.toContain(NEW);
  expect(await open(rig, 'two', pages.url)).toContain('cookie: none');

  const before = pages.requests.length;
  for (const url of [
    other.url,
    `http://localhost:${other.host.split(':')[1]}`,
    'http://169.254.169.254/latest/meta-data',
  ]) {
    expect(await open(rig, 'one', url), url).toMatch(/is not on the public internet/);
  }
  for (const url of [
    'file:///etc/passwd',
    'view-source:file:///etc/passwd',
    'chrome://version',
    ' View-Source:file:///',
  ]) {
    const [first, second] = [
      await use(rig, 'one', 'navigate', { url }),
      await use(rig, 'one', 'tabs', { action: 'new', url }),
    ];
    for (const refused of [first, second])
      expect(refused.text).toMatch(/: url: expected an address that begins with http/);
  }
  const leave = `() => { location.href = 'view-source:file:///etc/passwd'; open('file:///etc/passwd'); }`;
  await use(rig, 'one', 'evaluate', { function: leave });
  expect((await use(rig, 'one', 'snapshot')).text).not.toContain('root:');
  expect(other.requests).toEqual([]);
  expect(pages.requests).toHaveLength(before);

  for (const pid of launchers()) process.kill(-pid, 'SIGKILL');
  await expect.poll(chromiums, { timeout: 120_000 }).toEqual([]);
  const after = await use(rig, 'one', 'snapshot');
  expect(after.text).toContain(NEW);
  expect(after.text).toContain('about:blank');
  await rig.part.stop?.();
  await expect.poll(chromiums, { timeout: 120_000 }).toEqual([]);
});

/** The processes of this test. */
function processes(): { pid: number; parent: number; command: string }[] {
  const all = readdirSync('/proc').flatMap((name) => {
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ');
      return state === 'Z' ? [] : [{ pid: Number(name), parent: Number(parent), command }];
    } catch {
      return [];
    }
  });
  const own = new Set([process.pid]);
  for (let size = 0; size < own.size;) {
    size = own.size;
    for (const { pid, parent } of all) if (own.has(parent)) own.add(pid);
  }
  return all.filter(({ pid }) => own.has(pid));
}

const launchers = () =>
  processes()
    .filter(({ command }) => command.includes('launch-browser'))
    .map(({ pid }) => pid);
const seen = new Set<number>();
function chromiums(): number[] {
  for (const { pid, command } of processes()) if (command.includes('--remote-debugging-pipe')) seen.add(pid);
  return [...seen].filter((pid) => {
    try {
      return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
    } catch {
      return false;
    }
  });
}

test('a page sends no packet past the proxy (G30)', async () => {
  const pages = await startPages();
  const socket = createSocket('udp4');
  let packets = 0;
  socket.on('message', () => (packets += 1));
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  onTestFinished(() => void socket.close());
  const rig = await browserRig([pages.host]);
  await use(rig, 'main', 'navigate', { url: pages.url });
  const gather = `async () => {
    const peer = new RTCPeerConnection({ iceServers: [{ urls: 'stun:127.0.0.1:${socket.address().port}' }] });
    peer.createDataChannel('x');
    await peer.setLocalDescription(await peer.createOffer());
    const ended = new Promise((resolve) => { peer.onicegatheringstatechange = () => peer.iceGatheringState === 'complete' && resolve(); });
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 15000))]);
    return 'gathering: ' + peer.iceGatheringState;
  }`;
  expect((await use(rig, 'main', 'evaluate', { function: gather })).text).toContain('gathering: complete');
  expect(packets).toBe(0);
});
