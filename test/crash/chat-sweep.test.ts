// Goal: a streamed chat with a tool of the client survives a crash of its worker or its API at any
// point: the client's retry gets the whole text, the agent's tools run once, and the transcript has
// one input. Method: record the round trips of such a chat, then repeat it with a process that is
// killed at one of them; the client retries a stream that did not end, as OpenAI's client does. The
// long form strikes every fifth point, `HOLDFAST_CRASH_SWEEP=full` all; the short form skips this
// test.
import { expect, test } from 'vitest';
import { answerOf, faultsOfChunks } from '../features/openai/check-chunks.ts';
import { readStream } from '../features/openai/read-stream.ts';
import { readEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { like } from '../rows/table.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { apiKey, startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import { nameOfAny, strikeAny, type AnyPoint } from './rig/strike-any.ts';
import { countTrips } from './rig/sweep-kills.ts';
import { everyPoint, isFullSweep, printPoints } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';

const REPETITIONS_MAX = 40;

let rig: CrashRig;
let second: Victim;
let talks = 0;

shareAmongTests(async (onEnd) => {
  const testDatabase = await withTestDatabase();
  onEnd(() => testDatabase.drop());
  rig = await startCrashRig({ databaseUrl: testDatabase.url, workers: 2 });
  onEnd(() => rig.close());
  second = await rig.startVictim('api-2', 'api');
});

const TOOLS = [{ type: 'function', function: { name: 'weather', parameters: { type: 'object', properties: {} } } }];

interface Talk {
  name: string;
  text: string;
  /** Streams that ended correctly, and the errors of the others. */
  faults: string[];
}

/** Sends the request until an answer is complete, at the other API if one was killed. */
async function ask(body: object, first: Victim): Promise<Awaited<ReturnType<typeof readStream>>> {
  for (let times = 0; times < REPETITIONS_MAX; times += 1) {
    const api = times === 0 ? first : second;
    const headers = { 'x-stainless-retry-count': String(times) };
    const read = await readStream(api.service.url, { key: apiKey, body, headers }).catch(() => null);
    if (read?.isDone === true) return read;
    if (read !== null && read.status < 500 && read.status !== 200)
      throw new Error(`refused: ${JSON.stringify(read.error)}`);
  }
  throw new Error(`no answer after ${REPETITIONS_MAX} repetitions`);
}

async function hold(first: Victim): Promise<Talk> {
  talks += 1;
  const name = `talk-${talks}x`;
  const script = `[[reply: Let me see.]] [[tool: http_effect ${JSON.stringify({ key: name })}]] & [[tool: weather {"city": "Oslo"}]] [[slow: 5]] [[reply: It rains in Oslo today.]]`;
  const messages: object[] = [{ role: 'user', content: `${name}: how is the weather? ${script}` }];
  const base = { model: 'holdfast', tools: TOOLS };
  const called = await ask({ ...base, messages }, first);
  const { text, calls } = answerOf(called.chunks);
  messages.push({
    role: 'assistant',
    content: text,
    tool_calls: calls.map(({ id, ...call }) => ({ id, type: 'function', function: call })),
  });
  messages.push(...calls.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'rain' })));
  const last = await ask({ ...base, messages }, first);
  const faults = [called, last].flatMap(({ chunks }) => faultsOfChunks(chunks, { wantsUsage: false }));
  return { name, text: `${text} ${answerOf(last.chunks).text}`, faults };
}

/** Returns what is wrong with a chat that is over. */
async function judge({ name, text, faults }: Talk): Promise<string[]> {
  const inputs = await readInputs(rig.database, { text: like(`${name}:%`) }, 'sessionId', 'status');
  const effects = rig.effects.effects.filter(({ key }) => key === name).length;
  const results = await readEntries(rig.database, { sessionId: inputs[0]?.sessionId, kind: 'results' }, 'content');
  const told = results[0]?.content as { content: unknown }[] | undefined;
  return [
    ...faults,
    ...(text === 'Let me see. It rains in Oslo today.' ? [] : [`the text is ${JSON.stringify(text)}`]),
    ...(inputs.length === 1 && inputs[0]?.status === 'answered' ? [] : [`the inputs are ${JSON.stringify(inputs)}`]),
    ...(effects > 1 ? [`the effect happened ${effects} times`] : []),
    ...(results.length === 1 && told?.length === 2 && told[1]?.content === 'rain'
      ? []
      : [`the results are ${JSON.stringify(results)}`]),
  ];
}

async function pointsOf(victims: readonly Victim[], name: string): Promise<AnyPoint[]> {
  const kinds = await countTrips(victims, async () => expect(await judge(await hold(rig.api))).toEqual([]));
  // The job ends after the answer: a worker killed at that point leaves nothing to resume, possibly
  // after the chat is over.
  kinds.delete('queue: finish');
  const all = everyPoint(kinds, 'kill').flatMap((point): AnyPoint[] =>
    point.fault === 'race' ? [] : [{ ...point, fault: 'kill' }],
  );
  const chosen = isFullSweep() ? all : all.filter((_, at) => at % 5 === 0);
  printPoints(name, chosen, all);
  return chosen;
}

async function strikeAll(victims: readonly Victim[], points: readonly AnyPoint[]): Promise<string[]> {
  const found: string[] = [];
  for (const point of points) {
    let talk: Talk | null = null;
    const { faults } = await strikeAny(victims, point, {
      play: async () => void (talk = await hold(rig.api)),
      judge: async () => (talk === null ? ['the talk was not held'] : await judge(talk)),
    });
    found.push(...faults.map((fault) => `${nameOfAny(point)}: ${fault}`));
  }
  return found;
}

test('a worker killed at any round trip of a streamed chat costs no text and repeats no tool (G1, G2, G11)', async () => {
  const points = await pointsOf(rig.workers, 'the worker of a chat');
  expect(await strikeAll(rig.workers, points)).toEqual([]);
});

test('an API killed at any round trip of a streamed chat costs no text and makes no second turn (G1, G2)', async () => {
  const points = await pointsOf([rig.api], 'the API of a chat');
  expect(await strikeAll([rig.api], points)).toEqual([]);
});
