// Scripted conversations over the wire: texts, tools of the client and tools of the agent in every
// mixture. What the client received is checked against the rules of chunks (check-chunks.ts) and
// against the script.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { apiKey, openServiceRig, type ServiceRig } from '../../service/rig/service-rig.ts';
import { shareAmongTests } from '../../servers/share-among-tests.ts';
import { isLongForm } from '../../servers/test-form.ts';
import { seedOfRun } from '../../crash/rig/random-of.ts';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import { changeToolCalls } from '../../rows/calls.ts';
import { readDeadLetters } from '../../rows/dead-letters.ts';
import { changeDoorbells } from '../../rows/doorbells.ts';
import { readEntries } from '../../rows/entries.ts';
import { ago, grouped, not, now } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import { answerOf, faultsOfChunks } from './check-chunks.ts';
import { readStream, type ReadStream } from './read-stream.ts';

const SOON_MS = 240_000;
const CONVERSATIONS = isLongForm() ? 200 : 40;
const AT_ONCE = 8;

const holder = {} as { rig: ServiceRig; url: string };
shareAmongTests(async (onEnd) => {
  holder.rig = await openServiceRig({ queue: 'postgres', config: { lanes: { main: AT_ONCE } } });
  onEnd(() => holder.rig.close());
  holder.url = (await holder.rig.start('api,worker,scheduler')).url;
});

/** One answer of the model. */
interface Answer {
  text: string;
  /** Whose tools it calls, in order; none: it is the last answer. */
  calls: ('client' | 'agent')[];
}

const word = fc.stringMatching(/^[a-z]{1,12}$/);
const text = fc.array(word, { minLength: 1, maxLength: 12 }).map((words) => words.join(' '));
const conversations = fc.record({
  answers: fc.array(
    fc.record({
      text: fc.oneof(fc.constant(''), text),
      calls: fc.array(fc.constantFrom('client' as const, 'agent' as const), { minLength: 1, maxLength: 3 }),
    }),
    { maxLength: 3 },
  ),
  last: text,
  wantsUsage: fc.boolean(),
});
type Conversation = typeof conversations extends fc.Arbitrary<infer Value> ? Value : never;

function scriptOf({ answers, last }: Conversation): string {
  const lines = answers.map((answer, at) => {
    const calls = answer.calls.map((whose, n) =>
      whose === 'client' ? `[[tool: weather {"city": "${at}-${n}"}]]` : '[[tool: session_status {}]]',
    );
    return `${answer.text === '' ? '' : `[[reply: ${answer.text}]] `}${calls.join(' & ')}`;
  });
  return [...lines, `[[reply: ${last}]]`].join(' ');
}

/**
 * What the client has to receive: for each of its requests the text and the cities that it is asked
 * for.
 */
function expectedOf({ answers, last }: Conversation): { text: string; cities: string[] }[] {
  const requests: { text: string; cities: string[] }[] = [];
  let texts: string[] = [];
  for (const [at, answer] of [...answers, { text: last, calls: [] } satisfies Answer].entries()) {
    if (answer.text !== '') texts.push(answer.text);
    const cities = answer.calls.flatMap((whose, n) => (whose === 'client' ? [`${at}-${n}`] : []));
    if (cities.length === 0 && answer.calls.length > 0) continue;
    requests.push({ text: texts.join('\n\n'), cities });
    texts = [];
  }
  return requests;
}

const WEATHER = { type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } };

function ask(messages: object[], wantsUsage: boolean): Promise<ReadStream> {
  const body = {
    model: 'holdfast',
    messages,
    tools: [WEATHER],
    ...(wantsUsage ? { stream_options: { include_usage: true } } : {}),
  };
  return readStream(holder.url, { key: apiKey, body });
}

/**
 * Holds the conversation as a client does; what is wrong with what it was sent, one sentence each.
 */
async function hold(conversation: Conversation): Promise<string[]> {
  const { wantsUsage } = conversation;
  const messages: object[] = [{ role: 'user', content: scriptOf(conversation) }];
  const faults: string[] = [];
  for (const wanted of expectedOf(conversation)) {
    const read = await ask(messages, wantsUsage);
    if (!read.isDone) return [...faults, `no [DONE]: ${JSON.stringify(read.error)}`];
    faults.push(...faultsOfChunks(read.chunks, { wantsUsage }));
    const answer = answerOf(read.chunks);
    if (answer.text !== wanted.text) faults.push(`the text is ${JSON.stringify(answer.text)}`);
    const cities = answer.calls.map((call) => (JSON.parse(call.arguments) as { city: string }).city);
    if (cities.join() !== wanted.cities.join()) faults.push(`the calls are for ${cities.join()}`);
    messages.push({
      role: 'assistant',
      content: answer.text,
      tool_calls: answer.calls.map(({ id, ...called }) => ({ id, type: 'function', function: called })),
    });
    for (const { id } of answer.calls) messages.push({ role: 'tool', tool_call_id: id, content: 'sun' });
  }
  return faults;
}

test(`${CONVERSATIONS} conversations stream exactly what their scripts say`, async () => {
  const seed = seedOfRun();
  const faults: { script: string; found: string[] }[] = [];
  const left = fc.sample(conversations, { numRuns: CONVERSATIONS, seed });
  async function holdSome(): Promise<void> {
    for (let next = left.pop(); next !== undefined; next = left.pop()) {
      const found = await hold(next);
      if (found.length > 0) faults.push({ script: scriptOf(next), found });
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, holdSome));
  expect({ seed, faults }).toEqual({ seed, faults: [] });
  const turns = grouped(await readTurns(holder.rig, {}, 'status'), 'status');
  expect(turns).toEqual([{ status: 'completed', n: CONVERSATIONS }]);
});

describe('the results of a client', () => {
  test('that do not come before the deadline end the turn with an error', async () => {
    const messages = [{ role: 'user', content: 'given up [[tool: weather {"city": "Oslo"}]] [[reply: Unknown.]]' }];
    const first = answerOf((await ask(messages, false)).chunks);
    expect(first.calls).toHaveLength(1);
    const parked = await waitUntil('the turn is parked', SOON_MS, async () => {
      const [row] = await readTurns(holder.rig, { status: 'parked', parkCode: 'caller' }, 'id', 'sessionId');
      return row ?? null;
    });
    const { id } = parked;
    await changeToolCalls(holder.rig, { turnId: id }, { heldUntil: ago('1 second') });
    await changeDoorbells(holder.rig, { sessionId: parked.sessionId }, { dueAt: now });
    const turn = await waitUntil('the turn ends', SOON_MS, async () => {
      const [row] = await readTurns(holder.rig, { id, endedAt: not(null) }, 'status', 'error');
      return row ?? null;
    });
    expect(turn).toMatchObject({ status: 'failed', error: { code: 'caller_timeout' } });
    // Nothing that an operator could do would send them.
    expect(await readDeadLetters(holder.rig, { turnId: id }, 'id')).toEqual([]);
    const results = await readEntries(holder.rig, { turnId: id, kind: 'results' }, 'content');
    expect(JSON.stringify(results)).toContain('No result came from the client.');
    const late = await ask(
      [
        ...messages,
        {
          role: 'assistant',
          content: '',
          tool_calls: first.calls.map(({ id: call, ...called }) => ({ id: call, type: 'function', function: called })),
        },
        ...first.calls.map(({ id: call }) => ({ role: 'tool', tool_call_id: call, content: 'sun' })),
      ],
      false,
    );
    expect(late).toMatchObject({ isDone: false, error: { code: 'turn_failed' } });
  });
});
