// The tools of a running service, called by the model: memory, web pages, messages, and background
// commands, which a stop ends and a crash of the worker does not hide (G24, G30). Judged by the
// results that the model receives, the rows and the processes.
import { mkdirSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { isGroupAlive } from '../../src/tools/process-group.ts';
import { waitUntil } from '../crash/rig/wait-until.ts';
import { readProcesses } from '../rows/processes.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { ServiceApi } from './rig/service-api.ts';
import { openServiceRig, type RunningProcess, type ServiceRig } from './rig/service-rig.ts';

const SOON_MS = 150_000;

let rig: ServiceRig;
let front: RunningProcess;
let worker: RunningProcess;
let api: ServiceApi;

shareAmongTests(async (onEnd) => {
  const opened = await openServiceRig({
    queue: 'postgres',
    // A command tells the number of its process, which means something else in a sandbox.
    config: { channels: { webhook: { url: 'http://127.0.0.1:9/' } }, tools: { exec: { sandbox: 'off' } } },
  });
  onEnd(() => opened.close());
  rig = opened;
  front = await rig.start('api,scheduler');
  worker = await rig.start('worker');
  api = rig.apiOf(front);
  mkdirSync(join(rig.dataDir, 'workspace', 'memory'), { recursive: true });
});

/** Makes the model call a tool, and returns the result that it receives. */
async function call(session: string, tool: string, input: object): Promise<string> {
  const message = await api.settled(
    await api.send(session, { text: `[[tool: ${tool} ${JSON.stringify(input)}]] [[reply: ok]]` }),
  );
  expect(message).toMatchObject({ status: 'answered', reply: 'ok' });
  const { body } = await api.ask('GET', `/v1/sessions/${session}/transcript`);
  const results = body.items.filter(
    ({ kind, turnId }: { kind: string; turnId: string }) => kind === 'results' && turnId === message.turnId,
  );
  return results.at(-1).content[0].content;
}

/**
 * Starts a background command that prints its process id, and returns that with the id of its row.
 */
async function leave(session: string): Promise<{ id: string; pid: number }> {
  const file = `${session}.pid`;
  const said = await call(session, 'exec', {
    command: `(sleep 300 & wait) & echo $$ > ${file}; sleep 300`,
    background: true,
  });
  const [id = ''] = /[0-9a-f-]{36}/.exec(said) ?? [];
  const pid = await waitUntil('the command runs', SOON_MS, async () => {
    const noted = await readFile(join(rig.dataDir, 'workspace', file), 'utf8').catch(() => '');
    return noted.endsWith('\n') && Number(noted);
  });
  return { id, pid };
}

async function ended(id: string, status: string): Promise<void> {
  await waitUntil(`command ${id} is ${status}`, SOON_MS, async () => {
    const [row] = await readProcesses(rig, { id }, 'status');
    return row?.status === status;
  });
}

/** A process that gets KILL ends only when it next gets the processor. */
async function gone(pid: number): Promise<void> {
  await waitUntil('the group is gone', SOON_MS, async () => !(await isGroupAlive(pid)));
}

async function nextPrompt(session: string): Promise<string> {
  await api.settled(await api.send(session, { text: 'And now? [[reply: ok]]' }));
  const { body } = await api.ask('GET', `/v1/sessions/${session}/transcript`);
  const prompts = body.items.filter(({ kind }: { kind: string }) => kind === 'prompt');
  return prompts.at(-1).content[0].text;
}

test('an agent has all of them, with the section on memory', async () => {
  await api.settled(await api.send('list', { text: '[[reply: ok]]' }));
  const request = rig.model.requests.at(-1)?.body as { tools: { name: string }[]; system: { text: string }[] };
  expect(request.tools.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['exec', 'process', 'web_fetch', 'message', 'memory_get', 'memory_search']),
  );
  expect(request.system[0]?.text).toContain('## Memory Recall');
});

test('memory is found as soon as it is written', async () => {
  writeFileSync(join(rig.dataDir, 'workspace', 'memory', '2026-02-01.md'), '# Plans\nThe launch is on Friday.\n');
  expect(await call('memory', 'memory_search', { query: 'when is the launch' })).toContain(
    'memory/2026-02-01.md#L1-L2',
  );
  expect(await call('memory', 'memory_get', { path: 'memory/2026-02-01.md', from: 2 })).toContain(
    'The launch is on Friday.',
  );
});

test('public pages are fetched, internal addresses are not (G30)', async () => {
  expect(await call('web', 'web_fetch', { url: `${front.url}/healthz` })).toContain('is not on the public internet');
});

test('a message is in the outbox while the turn is still open', async () => {
  expect(await call('message', 'message', { action: 'send', message: 'On it.' })).toContain('Queued for api');
  const { body } = await api.ask('GET', '/v1/deliveries');
  expect(JSON.stringify(body)).toContain('On it.');
});

test('a stop ends background commands (G24)', async () => {
  const { id, pid } = await leave('stop');
  expect((await api.ask('POST', '/v1/sessions/stop/abort', {})).status).toBe(200);
  await ended(id, 'killed');
  await gone(pid);
  expect(await nextPrompt('stop')).toContain(
    `The command ${id} that ran in the background was ended: stopped by the user.`,
  );
});

test('the commands of a crashed worker become lost, and the session is notified', async () => {
  const { id, pid } = await leave('lost');
  await rig.kill(worker);
  worker = await rig.start('worker');
  await ended(id, 'lost');
  await gone(pid);
  expect(await nextPrompt('lost')).toContain(`The command ${id} that ran in the background is lost`);
  expect(await call('lost', 'process', { action: 'list' })).toContain(`${id} lost`);
});
