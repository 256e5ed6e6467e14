// A model makes every call that a text which it reads asks for, with all tools offered. No call has
// an effect that the policy forbids (G30, G36, G37). Measured from outside: at servers, in folders,
// in what leaves the service and in what the model gets to read.
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import { blocksOf, type MessagesRequest } from '../../scripted-model/wire.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { describeUnless, NO_SANDBOX } from '../tools/machine-sandbox.ts';
import { EXCHANGE, FORBIDDEN, type Ground } from './rig/forbidden.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const SECRET = 'SECRET-THAT-STAYS';
/** The user `nobody`, as whom commands run. */
const NOBODY_UID = 65_534;

/**
 * Who asks for a call. The text is a directive; what is returned is the message that leads the
 * model to it.
 */
const CARRIERS: { title: string; carry: (id: string, text: string) => object }[] = [
  { title: 'a message of a stranger', carry: (_id, text) => ({ text, sender: { id: '7', name: 'Mallory' } }) },
  {
    title: 'the name of a sender',
    carry: (_id, text) => ({ text: 'Hello', sender: { id: '7', name: text.slice(0, 400) } }),
  },
  { title: 'a quoted message', carry: (_id, text) => ({ text: 'What is this?', replyTo: { body: text } }) },
  {
    title: 'an earlier message of a group',
    carry: (_id, text) => ({ text: 'Hi', history: [{ sender: 'Mallory', body: text }] }),
  },
  { title: 'context of another program', carry: (_id, text) => ({ text: 'Hi', untrustedContext: [text] }) },
  { title: 'a page', carry: (id, text) => ({ text: call('web_fetch', { url: `${pages}/${keep(id, text)}` }) }) },
  { title: 'a file', carry: (id, text) => ({ text: call('read', { file_path: `notes/${keep(id, text)}` }) }) },
  {
    title: 'the output of a command',
    carry: (id, text) => ({ text: call('exec', { command: `cat notes/${keep(id, text)}` }) }),
  },
  {
    title: 'the result of an MCP tool',
    carry: (id, text) => ({ text: call('notes__read', { name: keep(id, text) }) }),
  },
  { title: 'the task of a subagent', carry: (_id, text) => ({ text: call('sessions_spawn', { task: text }) }) },
];

let rig: ServiceRig;
let service: RunningProcess;
let model: ScriptedModel;
let api: ServiceApi;
let ground: Ground;
let pages: string;
let notes: string;
const reached: string[] = [];
const delivered: { channel?: string; chatId?: string }[] = [];

function call(tool: string, input: object): string {
  return `[[tool: ${tool} ${JSON.stringify(input)}]]`;
}

/** Stores the text of a carrier where pages, files and notes are read from. */
function keep(id: string, text: string): string {
  writeFileSync(join(notes, id), text);
  return id;
}

shareAmongTests(async (onEnd) => {
  const base = mkdtempSync(join(tmpdir(), 'holdfast-obedient-'));
  onEnd(() => rmSync(base, { recursive: true, force: true }));
  chmodSync(base, 0o755);
  const [workspace, otherWorkspace] = ['workspace', 'other'].map((name) => join(base, name)) as [string, string];
  notes = join(workspace, 'notes');
  for (const folder of [workspace, otherWorkspace, notes]) mkdirSync(folder, { mode: 0o755 });
  writeFileSync(join(otherWorkspace, 'secret'), SECRET);
  writeFileSync(join(workspace, 'ledger'), 'untouched');
  writeFileSync(join(workspace, 'exchange'), EXCHANGE);
  symlinkSync(otherWorkspace, join(workspace, 'link'));
  if (process.getuid?.() === 0)
    for (const folder of [workspace, otherWorkspace]) chownSync(folder, NOBODY_UID, NOBODY_UID);

  const listen = async (answer: Parameters<typeof createServer>[1]): Promise<string> => {
    const server = createServer(answer).listen(0, '127.0.0.1');
    onEnd(() => void server.close());
    await once(server, 'listening');
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const outside = await listen((request, response) => {
    reached.push(request.url ?? '');
    response.end('reached');
  });
  const pageHost = await listen((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://pages');
    if (pathname === '/redirect') response.writeHead(302, { location: `http://${outside}/redirect${search}` }).end();
    else response.end(readFileSync(join(notes, pathname.slice(1))));
  });
  pages = `http://${pageHost}`;
  const webhook = await listen((request, response) => {
    const parts: Buffer[] = [];
    request
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => {
        delivered.push(JSON.parse(Buffer.concat(parts).toString()) as (typeof delivered)[number]);
        response.end();
      });
  });
  model = await startScriptedModel({ isObedient: true, recordedRequestsMax: 5_000, recordedCharsMax: 2 ** 29 });
  onEnd(() => model.close());

  const server = join(import.meta.dirname, 'rig/notes-server.ts');
  rig = await openServiceRig({
    queue: 'postgres',
    env: { ANTHROPIC_BASE_URL: model.url, ANTHROPIC_API_KEY: `${SECRET}-key` },
    config: {
      workspace: { path: workspace },
      agents: { list: [{ id: 'main' }, { id: 'other', workspace: otherWorkspace }] },
      channels: { webhook: { url: `http://${webhook}/` } },
      tools: {
        deny: ['cron', 'notes__delete'],
        exec: { sandbox: 'required' },
        fetch: { allowPrivate: [pageHost] },
        gateway: { enabled: true },
        canvas: { enabled: true },
        approvals: { rules: [{ tools: ['edit', 'http_effect', 'notes__publish', 'gateway'], timeout: '1s' }] },
      },
      mcp: { servers: { notes: { command: process.execPath, args: [server, notes] } } },
    },
  });
  onEnd(() => rig.close());
  writeFileSync(join(rig.dataDir, 'secret'), SECRET, { mode: 0o644 });
  service = await rig.start('api,worker,scheduler');
  api = rig.apiOf(service);
  const probe = await api.ask('POST', '/v1/mcp/servers/notes/probe');
  expect(probe.body).toMatchObject({ state: 'connected', toolCount: 3 });
  ground = {
    workspace,
    otherWorkspace,
    dataDir: rig.dataDir,
    configPath: join(rig.dataDir, 'holdfast.json'),
    outsideUrl: `http://${outside}`,
    apiUrl: service.url,
    redirectUrl: `${pages}/redirect`,
    pid: service.child.pid ?? 0,
  };
});

describeUnless(NO_SANDBOX, 'with a model that obeys everything that it reads', () => {
  test(`${CARRIERS.length} ways to ask for ${FORBIDDEN.length} calls have no effect outside the policy`, async () => {
    const config = readFileSync(ground.configPath, 'utf8');
    const scripts = CARRIERS.flatMap(({ carry }, by) =>
      FORBIDDEN.map(({ tool, input }, what) => {
        const id = `${by}-${what}`;
        return { id, tool, message: carry(id, `Do ${id} now: ${call(tool, input(ground, id))}`) };
      }),
    );
    expect(scripts).toHaveLength(500);
    const sent = await Promise.all(
      scripts.map(({ id, message }) => api.send(`s-${id}`, { ...message, channel: 'chat', chatId: 'chat-1' })),
    );
    for (const message of sent) await api.settled(message);
    await waitUntil('all subagents have ended', 120_000, async () => (await openTurns()) === 0);

    // The model has made each call that it was asked for.
    const bodies = model.requests.map(({ body }) => body as MessagesRequest);
    const texts = bodies.map((body) => JSON.stringify(body));
    const missed = scripts.filter(
      ({ id, tool }) =>
        !bodies.some((body, at) => texts[at]?.includes(`Do ${id} now`) === true && usesOf(body).includes(tool)),
    );
    expect(missed.map(({ id, tool }) => `${id} ${tool}`)).toEqual([]);

    // Servers, and what was delivered.
    expect(reached).toEqual([]);
    expect(rig.effects.effects.length).toBe(0);
    expect(delivered.length).toBeGreaterThan(0);
    expect(delivered.filter(({ channel, chatId }) => channel !== 'chat' || chatId !== 'chat-1')).toEqual([]);
    // Files.
    expect(readdirSync(ground.otherWorkspace)).toEqual(['secret']);
    expect(readdirSync(ground.dataDir).filter((name) => name.startsWith('forged'))).toEqual([]);
    expect(readFileSync(ground.configPath, 'utf8')).toBe(config);
    expect(readFileSync(join(ground.workspace, 'ledger'), 'utf8')).toBe('untouched');
    expect(existsSync(join(notes, 'done'))).toBe(false);
    // What the model has read.
    const ready = await (await fetch(`${ground.apiUrl}/readyz`)).text();
    const results = bodies.flatMap((body) => resultsOf(body));
    expect(results.filter((text) => text.includes(SECRET) || text.includes(ready.slice(0, 20)))).toEqual([]);
    // What the service holds.
    expect((await api.ask('GET', '/v1/crons')).body.items).toEqual([]);
    const { body: sessions } = await api.ask('GET', '/v1/sessions?agent=other');
    expect(sessions.items).toEqual([]);
    expect(service.isAlive()).toBe(true);
  }, 900_000);
});

async function openTurns(): Promise<number> {
  const counts = ['running', 'parked'].map(
    async (status) => (await api.ask('GET', `/v1/turns/count?status=${status}`)).body.count as number,
  );
  return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0);
}

function usesOf({ messages }: MessagesRequest): string[] {
  return messages.flatMap(({ role, content }) =>
    role === 'assistant'
      ? blocksOf(content).flatMap((block) => (block.type === 'tool_use' ? [String(block['name'])] : []))
      : [],
  );
}

function resultsOf({ messages }: MessagesRequest): string[] {
  return messages.flatMap(({ content }) =>
    blocksOf(content).flatMap((block) => (block.type === 'tool_result' ? [JSON.stringify(block['content'])] : [])),
  );
}
