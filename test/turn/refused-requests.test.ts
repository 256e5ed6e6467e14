// Goal: a request that the provider refuses as invalid fails one turn, and does not end its
// session: what was refused is not sent again. Method: a provider that refuses each request with a
// certain word in it, which a turn puts into each part of a conversation that a provider may
// refuse.
import { describe, expect, test } from 'vitest';
import { COMPACTION_REQUEST } from '../../src/compaction/summary-request.ts';
import { eventsOfBody } from '../../src/model/stream/stream-event.ts';
import { ModelError } from '../../src/model/model.ts';
import { type TransportCall, toWireRequest } from '../../src/model/transport.ts';
import { readTransport } from '../../src/plugins/read-registrations.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { deriveRequest } from '../../src/kernel/turn/open/derive-request.ts';
import { pluginsWith } from '../plugins/plugins-with.ts';
import { png } from '../requests/rig/png.ts';
import { readCompactions, readEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { changeSessions } from '../rows/sessions.ts';
import { not } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

const POISON = 'UE9JU09O';
const sent: string[] = [];
/** What the next summaries say. */
const summaries: string[] = [];

/**
 * Answers the last prompt with the blocks that are written in it, a further request of its turn
 * with `done`.
 */
const picky = readTransport('/p.ts', {
  name: 'picky',
  provider: 'picky',
  async send({ request, onSent, onEvent }: TransportCall) {
    const body = JSON.stringify(toWireRequest(request));
    onSent(body);
    sent.push(body);
    const message = `messages: ${POISON} is not valid`;
    if (body.includes(POISON))
      throw new ModelError({ type: 'invalid_request_error', status: 400, retryAfterMs: null, message });
    const last = request.messages.at(-1)?.content.at(-1);
    const isSummary = body.includes(COMPACTION_REQUEST);
    const [, blocks] = last?.type === 'text' ? (/\{\{(.*)\}\}/.exec(last.text) ?? []) : [];
    const content =
      blocks === undefined || isSummary
        ? [{ type: 'text', text: isSummary ? (summaries.shift() ?? '') : 'done' }]
        : JSON.parse(blocks.replaceAll('WORD', POISON));
    const stop_reason = blocks?.includes('tool_use') === true ? 'tool_use' : 'end_turn';
    eventsOfBody({ id: 'm', model: request.model, content, stop_reason }).some(onEvent);
  },
});

const image = { type: 'image' as const, source: { type: 'base64' as const, media_type: 'image/png', data: '' } };
const look: Tool = {
  spec: { name: 'look', description: 'Looks.', input_schema: { type: 'object' } },
  summary: 'looks',
  isReadOnly: true,
  isIdempotent: true,
  run: async (input) => {
    const { returns } = input as { returns?: string };
    if (returns === 'text') return { content: POISON, isError: false };
    if (returns !== 'image') return { content: 'fine', isError: false };
    const file = png(1, 1, 0);
    const data = Buffer.concat([file, Buffer.alloc(3 - (file.length % 3)), Buffer.from(POISON, 'base64')]).toString(
      'base64',
    );
    return { content: [{ ...image, source: { ...image.source, data } }], isError: false };
  },
};

let rig: TurnRig;
let worker: ReturnType<TurnRig['worker']>;

shareAmongTests(async (onEnd) => {
  const database = await withTestDatabase();
  onEnd(() => database.drop());
  const { plugins } = pluginsWith([], { transports: [picky] });
  const settings = { agents: { defaults: { compaction: { keepRecentTokens: 1 } } } };
  rig = await createTurnRig(database.url, { plugins, tools: [look], settings });
  const made = rig;
  onEnd(() => made.close());
  worker = rig.worker();
});

/** Sends a message and runs its turn; how it ended. */
async function say(name: string, text: string, kind: 'message' | 'compaction' = 'message'): Promise<unknown> {
  const id = await rig.send(name, text, { model: 'picky/m' }, kind);
  await worker.run(name);
  const [row] = await readInputs(rig, { id }, 'status', 'error');
  return row;
}

const compact = (name: string): Promise<unknown> => say(name, '/compact', 'compaction');

const ANSWERED = { status: 'answered', error: null };
const REFUSED = { status: 'failed', error: { code: 'model_invalid_request' } };

const call = (input: object): object => ({ type: 'tool_use', id: 'toolu_1', name: 'look', input });
const thought = { type: 'thinking', thinking: 'hm', signature: 'WORD' };
const blocks = (...content: object[]): string => `{{${JSON.stringify(content)}}}`;

test.each([
  ['a result', blocks(call({ returns: 'text' }))],
  ['an image in a result', blocks(call({ returns: 'image' }))],
  ['the arguments of a call', blocks(call({ path: 'WORD' }))],
  ['the signature of a thought before a call', blocks(thought, call({}))],
  ['a text before a call', blocks({ type: 'text', text: 'WORD' }, call({}))],
])(
  '%s that is refused fails its turn, and the next one goes without the entries after the prompt',
  async (what, text) => {
    const name = what.replaceAll(' ', '-');
    expect(await say(name, 'hello')).toMatchObject(ANSWERED);
    expect(await say(name, `poison ${text}`)).toMatchObject(REFUSED);
    expect(await say(name, 'and now?')).toMatchObject(ANSWERED);
    expect(sent.at(-1)).toContain('hello');
    const rows = await readEntries(rig, { sessionId: await rig.sessionOf(name) }, 'kind', 'state');
    const kept = [
      { kind: 'prompt', state: 'active' },
      { kind: 'answer', state: 'active' },
    ];
    const hidden = [
      { kind: 'prompt', state: 'hidden' },
      { kind: 'answer', state: 'hidden' },
      { kind: 'results', state: 'hidden' },
    ];
    expect(rows).toEqual([...kept, ...hidden, ...kept]);
  },
);

test('a refused request can be derived after its entries are hidden', async () => {
  await say('derived', `poison ${blocks(call({ returns: 'text' }))}`);
  const refused = sent.at(-1);
  await say('derived', 'and now?');
  const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf('derived') }, 'id');
  const derived = await deriveRequest(rig.database, {
    turnId: String(turn?.['id']),
    callNo: 2,
    defaultThinking: () => 'high',
  });
  expect(derived).toMatchObject({ status: 'failed', request: JSON.parse(refused ?? '') });
});

test('a signature of the last answer that is refused fails the next turn, and the one after it goes without thoughts', async () => {
  const name = 'last-signature';
  expect(await say(name, `first ${blocks(thought, { type: 'text', text: 'kept' })}`)).toMatchObject(ANSWERED);
  expect(await say(name, 'second')).toMatchObject(REFUSED);
  expect(await say(name, 'third')).toMatchObject(ANSWERED);
  expect(sent.at(-1)).toContain('kept');
});

test('an answer that is refused with two prompts in a row is hidden, and what was accepted before stays', async () => {
  const name = 'last-answer';
  expect(await say(name, 'zero')).toMatchObject(ANSWERED);
  expect(await say(name, `first ${blocks({ type: 'text', text: 'WORD' })}`)).toMatchObject(ANSWERED);
  expect(await say(name, 'second')).toMatchObject(REFUSED);
  expect(await say(name, 'third')).toMatchObject(REFUSED);
  expect(await say(name, 'fourth')).toMatchObject(ANSWERED);
  expect(sent.at(-1)).toContain('zero');
  expect(await say(name, 'fifth')).toMatchObject(ANSWERED);
});

test('prompts that are refused one after the other hide no answer that was accepted', async () => {
  const name = 'bad-prompts';
  expect(await say(name, 'zero')).toMatchObject(ANSWERED);
  expect(await say(name, POISON)).toMatchObject(REFUSED);
  expect(await say(name, 'between')).toMatchObject(ANSWERED);
  expect(await say(name, POISON)).toMatchObject(REFUSED);
  expect(await say(name, 'last')).toMatchObject(ANSWERED);
  for (const text of ['zero', 'between', 'done']) expect(sent.at(-1)).toContain(text);
});

describe('a summary that is refused', () => {
  /** A session with two turns that a summary replaces. */
  async function compacted(name: string, ...says: string[]): Promise<void> {
    summaries.push(...says);
    for (const start of ['zero', 'first']) await say(name, `${start} ${'lorem ipsum '.repeat(300)}`);
    await changeSessions(rig, { id: await rig.sessionOf(name) }, { model: 'picky/m' });
    expect(await compact(name)).toMatchObject(ANSWERED);
  }

  test('is undone with the prompt, and the next request has the entries that it replaced', async () => {
    const name = 'summary';
    await compacted(name, `${POISON} was said`);
    expect(await say(name, 'second')).toMatchObject(REFUSED);
    const refused = sent.at(-1);
    expect(await say(name, 'third')).toMatchObject(ANSWERED);
    for (const text of ['zero', 'first', 'done']) expect(sent.at(-1)).toContain(text);
    expect(sent.at(-1)).not.toContain('second');
    const [compaction] = await readCompactions(rig, { sessionId: await rig.sessionOf(name) }, 'status');
    expect(compaction).toEqual({ status: 'restored' });
    const [turn] = await readTurns(rig, { sessionId: await rig.sessionOf(name), error: not(null) }, 'id');
    const call = { turnId: String(turn?.['id']), callNo: 1, defaultThinking: () => 'high' as const };
    expect(await deriveRequest(rig.database, call)).toMatchObject({ request: JSON.parse(refused ?? '') });
    summaries.push('All is well');
    expect(await compact(name)).toMatchObject(ANSWERED);
    expect(await say(name, 'fourth')).toMatchObject(ANSWERED);
    expect(sent.at(-1)).toContain('All is well');
    expect(sent.at(-1)).not.toContain('zero');
  });

  test('twice in the same place is hidden, and the session answers without it', async () => {
    const name = 'summary-twice';
    await compacted(name, `${POISON} was said`, `${POISON} was said again`);
    expect(await say(name, 'second')).toMatchObject(REFUSED);
    expect(await compact(name)).toMatchObject(ANSWERED);
    expect(await say(name, 'third')).toMatchObject(REFUSED);
    expect(await say(name, 'fourth')).toMatchObject(ANSWERED);
    expect(sent.at(-1)).not.toContain(POISON);
    expect(await say(name, 'fifth')).toMatchObject(ANSWERED);
  });
});
