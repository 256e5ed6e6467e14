// Goal: a turn whose first request was fixed before it sends these bytes and nothing else of the
// agent, whatever happens to its worker. Method: conversations with everything that makes a request
// are recorded; a feature gives the request of each to another turn, and what the model server has
// received is compared.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import sharp from 'sharp';
import { expect, test } from 'vitest';
import type { GivenRequest } from '../../src/core/given-request.ts';
import type { InboundMessage } from '../../src/core/inbound.ts';
import type { TurnFeature } from '../../src/kernel/turn/context.ts';
import { deriveRequest, deriveSentRequest } from '../../src/kernel/turn/open/derive-request.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { readCompactions } from '../rows/entries.ts';
import { readModelCalls } from '../rows/calls.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { runAndLose } from './lose-worker.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

let runs = 0;
const act: Tool = {
  spec: { name: 'act', description: 'Acts.', input_schema: { type: 'object' } },
  summary: 'acts',
  isIdempotent: false,
  run: async () => ({ content: `acted ${(runs += 1)}`, isError: false }),
};

const settings = {
  agents: {
    defaults: { contextTokens: 24_000, fallbacks: ['anthropic/claude-haiku-4-5'] },
    list: [{ id: 'main' }],
  },
};

let rig: TurnRig;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  rig = await createTurnRig(database.url, { tools: [act], settings });
  await mkdir(rig.config.workspace.path, { recursive: true });
  const made = rig;
  onEnd(() => made.close());
});

async function record(name: string, text: string, more: Partial<InboundMessage> = {}): Promise<string> {
  const worker = rig.worker();
  await rig.send(name, text, more);
  await worker.run(name);
  worker.stop();
  return lastTurn(name);
}

async function lastTurn(name: string): Promise<string> {
  const turns = await readTurns(rig, { sessionId: await rig.sessionOf(name) }, 'id');
  return turns.at(-1)?.id ?? '';
}

/** Gives a request to every turn, and answers its calls of tools with a text. */
function giving(given: () => Promise<GivenRequest | null>, answer: () => string = () => 'acted'): TurnFeature {
  return {
    request: given,
    calls: {
      standIns: async (_, calls) =>
        new Map(calls.map((call) => [call.id, { ...act, run: async () => ({ content: answer(), isError: false }) }])),
    },
  };
}

async function requestOf(turnId: string): Promise<GivenRequest> {
  const [first] = await readModelCalls(rig, { turnId, purpose: 'answer' }, 'callNo');
  const wanted = { turnId, callNo: first!.callNo, defaultThinking: () => 'off' as const };
  const sent = await deriveSentRequest(rig.database, wanted);
  expect(sent?.matches).toBe(true);
  return { request: sent!.request, thinking: sent!.level, isSameModel: true };
}

/** What a turn has sent, by the hashes of its calls. */
async function hashes(turnId: string) {
  return (await readModelCalls(rig, { turnId, purpose: 'answer' }, 'requestSha256')).map(
    ({ requestSha256 }) => requestSha256,
  );
}

/** The bodies that the model server has received of a session. */
function received(name: string) {
  return rig.scripted.requests.filter(({ headers }) => headers['x-holdfast-session'] === `agent:main:${name}`);
}

/** Runs a turn with the request of another one; returns its id. */
async function replay(name: string, turnId: string): Promise<string> {
  const given = await requestOf(turnId);
  const worker = rig.worker({ tools: [], features: [giving(async () => given)] });
  await rig.send(name, 'Not this text.', {}, 'batch');
  await worker.run(name);
  worker.stop();
  return lastTurn(name);
}

const CALLS =
  '[[thinking: Hm.]] [[tool: act {"n":1} id=toolu_1]] [[thinking: So.]] [[tool: act {"n":2} id=toolu_2]] [[reply: done]]';

test.each([
  ['a first message', [], 'Hi. [[reply: one]]', {}],
  [
    'a conversation with tools and thinking',
    [`One. ${CALLS}`, `Two. ${CALLS}`],
    'Three. [[reply: three]]',
    { thinking: 'low' },
  ],
  [
    'a schema for the answer',
    ['One.'],
    'Two. [[reply: {"a":1}]]',
    {
      options: {
        responseFormat: {
          type: 'json_schema',
          schema: {
            type: 'object',
            properties: { a: { type: 'integer' } },
            required: ['a'],
            additionalProperties: false,
          },
        },
      },
    },
  ],
  ['sampling of a caller', ['One.'], 'Two.', { caller: { sampling: { temperature: 0.3 } } }],
  ['a large prompt', ['One. [[fill: 20000]]'], `Two. ${'many words '.repeat(3_000)}`, {}],
] as [string, string[], string, Partial<InboundMessage>][])(
  'the bytes are those that were sent: %s',
  async (title, before, text, more) => {
    const name = title.replaceAll(' ', '-');
    for (const one of before) await record(name, one, more);
    const turnId = await record(name, text, more);
    const replayed = await replay(`replay-${name}`, turnId);
    expect(await hashes(replayed)).toEqual(await hashes(turnId));
    expect(await hashes(replayed)).not.toContain(null);
    expect(received(`replay-${name}`).at(-1)?.body).toEqual(received(name).at(-1)?.body);
    const derived = await deriveRequest(rig.database, { turnId: replayed, callNo: 1, defaultThinking: () => 'off' });
    expect(derived?.matches).toBe(true);
  },
);

test('images of a conversation are sent again, also when their file is gone', async () => {
  const path = join(rig.config.workspace.path, 'red.png');
  const bytes = await sharp({ create: { width: 3, height: 3, channels: 3, background: '#ff0000' } })
    .png()
    .toBuffer();
  await writeFile(path, bytes);
  const turnId = await record('images', 'See. [[reply: red]]', { media: [{ path, type: 'image/png' }] });
  expect(JSON.stringify(received('images')[0]?.body)).toContain(bytes.toString('base64'));
  await writeFile(path, 'gone');
  expect(await hashes(await replay('replay-images', turnId))).toEqual(await hashes(turnId));
});

test('the later calls of the turn have the same bytes when its calls get the same results', async () => {
  runs = 0;
  const turnId = await record('later', `Go. ${CALLS.replaceAll('"n":2', '"n":1')}`);
  expect(runs).toBe(2);
  const given = await requestOf(turnId);
  let stood = 0;
  const feature = giving(
    async () => given,
    () => `acted ${(stood += 1)}`,
  );
  const worker = rig.worker({ tools: [], features: [feature] });
  await rig.send('replay-later', 'x', {}, 'batch');
  await worker.run('replay-later');
  worker.stop();
  expect(await hashes(await lastTurn('replay-later'))).toEqual(await hashes(turnId));
  expect(runs).toBe(2);
});

test('nothing of the workspace is in the request, and no tool of the agent runs without a stand-in (G45)', async () => {
  const turnId = await record('plain', 'Go. [[tool: act {"n":1}]] [[reply: done]]');
  await writeFile(join(rig.config.workspace.path, 'AGENTS.md'), 'A new rule of the workspace.');
  await writeFile(join(rig.config.workspace.path, 'SOUL.md'), 'A new soul.');
  const given = await requestOf(turnId);
  runs = 0;
  const worker = rig.worker({ features: [{ request: async () => given }] });
  await rig.send('replay-plain', 'x', {}, 'batch');
  await worker.run('replay-plain');
  worker.stop();
  const replayed = await lastTurn('replay-plain');
  expect((await hashes(replayed))[0]).toBe((await hashes(turnId))[0]);
  expect(runs).toBe(0);
  expect(JSON.stringify(received('replay-plain').map(({ body }) => body))).not.toContain('A new');
});

test.each([1, 2, 3, 4, 5, 6].flatMap((at) => [false, true].map((isAfter) => [at, isAfter] as const)))(
  'another worker resumes it with the same request, and the feature is not asked again (statement %i, after it: %s)',
  async (at, isAfter) => {
    const name = `crash-${at}-${isAfter}`;
    const turnId = await record(name, `Go. ${CALLS}`);
    const given = await requestOf(turnId);
    let asked = 0;
    const options = {
      tools: [],
      features: [
        giving(async () => {
          asked += 1;
          return given;
        }),
      ],
    };
    const run = `replay-${name}`;
    await rig.send(run, 'x', {}, 'batch');
    const isLost = await runAndLose(rig, run, at, isAfter, options);
    const turnsBefore = await readTurns(rig, { sessionId: await rig.sessionOf(run) }, 'id');
    const askedBefore = asked;
    const worker = rig.worker(options);
    if (isLost) await worker.run(run);
    worker.stop();
    const [turn, ...others] = await readTurns(rig, { sessionId: await rig.sessionOf(run) }, 'id', 'status', 'reply');
    expect(others).toEqual([]);
    expect(turn).toMatchObject({ status: 'completed', reply: 'done' });
    expect(asked - askedBefore).toBe(turnsBefore.length === 0 ? 1 : 0);
    const first = (await hashes(turnId))[0];
    expect((await hashes(turn?.id ?? ''))[0]).toBe(first);
  },
);

test('a model that does not answer is not replaced by a fallback of the agent', async () => {
  const text = 'Go. [[for: claude-haiku-4-5]] [[reply: small]] [[for: others]] [[error: 529 times=always]]';
  const turnId = await record('away', text);
  expect((await readTurns(rig, { id: turnId }, 'reply'))[0]).toMatchObject({ reply: 'small' });
  const replayed = await replay('replay-away', turnId);
  expect((await readTurns(rig, { id: replayed }, 'status'))[0]).toMatchObject({ status: 'parked' });
  const models = await readModelCalls(rig, { turnId: replayed }, 'model');
  expect(new Set(models.map(({ model }) => model))).toEqual(new Set(['anthropic/claude-sonnet-5-5']));
});

test('it is not compacted, however long it becomes', async () => {
  const turnId = await record('long', 'Go. [[reply: short]]');
  const given = await requestOf(turnId);
  const prompt = given.request.messages.at(-1)!;
  const text = `Go. [[repeat: 6 tool act {"n": "$i"}]] [[reply: done]]`;
  const long: GivenRequest = {
    ...given,
    request: { ...given.request, messages: [{ ...prompt, content: [{ type: 'text', text }] }] },
  };
  const feature = giving(
    async () => long,
    () => 'word '.repeat(5_000),
  );
  const worker = rig.worker({ tools: [], features: [feature] });
  await rig.send('replay-long', 'x', {}, 'batch');
  await worker.run('replay-long');
  worker.stop();
  const [turn] = await readTurns(rig, { id: await lastTurn('replay-long') }, 'status', 'reply', 'calls');
  expect(turn).toMatchObject({ status: 'completed', reply: 'done', calls: 7 });
  expect(await readCompactions(rig, { sessionId: await rig.sessionOf('replay-long') })).toEqual([]);
});

test('a request that cannot be made ends the turn with the reason', async () => {
  const turnId = await record('last', 'Hi. [[reply: one]]');
  const given = await requestOf(turnId);
  const answered: GivenRequest = {
    ...given,
    request: {
      ...given.request,
      messages: [...given.request.messages, { role: 'assistant', content: [{ type: 'text', text: 'one' }] }],
    },
  };
  const worker = rig.worker({ features: [giving(async () => answered)] });
  await rig.send('replay-last', 'x', {}, 'batch');
  await worker.run('replay-last');
  worker.stop();
  const [turn] = await readTurns(rig, { id: await lastTurn('replay-last') }, 'status', 'code');
  expect(turn).toMatchObject({ status: 'failed', code: 'malformed_history' });
});
