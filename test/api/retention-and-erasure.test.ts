// Goal: whatever retention and erasures do concurrently with turns, they delete nothing that is
// needed and keep nothing that should go. Method: random histories over a few sessions, up to three
// operations concurrently, with every age set to 0, so that everything unneeded is deleted. A model
// records the messages of each session; when a history is over, the tables are compared with it.
// `HOLDFAST_SEED` repeats a run.
import { expect, test } from 'vitest';
import type { SessionId } from '../../src/core/ids.ts';
import { beginRetention, RETENTION_KINDS } from '../../src/features/retention/retention-kinds.ts';
import { randomOf, seedOfRun } from '../crash/rig/random-of.ts';
import { readModelCalls, readToolCalls } from '../rows/calls.ts';
import { readDeadLetters } from '../rows/dead-letters.ts';
import { readEndedTranscripts, readEntries } from '../rows/entries.ts';
import { readInputs } from '../rows/inputs.ts';
import { changeRetention } from '../rows/retention.ts';
import { readSessions } from '../rows/sessions.ts';
import { readSystemEvents } from '../rows/system-events.ts';
import { above, sumOf } from '../rows/table.ts';
import { readTurns } from '../rows/turns.ts';
import { readUsageBuckets } from '../rows/usage.ts';
import { isLongForm } from '../servers/test-form.ts';
import { tablesWith } from './tables-with.ts';
import { useApiRig } from './use-api-rig.ts';
import { rollUpAll } from '../store/roll-up-all.ts';

const HISTORIES = isLongForm() ? 12 : 2;
const STEPS = 14;
const AT_ONCE_MAX = 3;
const SESSIONS = 3;

/**
 * These are deleted in every history; the keys of requests and the messages with their replies only
 * at the end of it.
 */
const EXPLAINING = RETENTION_KINDS.filter(({ kind }) => kind !== 'idempotencyKeys' && kind !== 'messages');

const holder = useApiRig();

interface Sent {
  text: string;
  key: string;
  id: string;
  fails: boolean;
}

/** The messages of a session since it was created or erased; `fresh`: since its last reset. */
interface Talk {
  name: string;
  word: string;
  generation: number;
  sent: Sent[];
  fresh: Sent[];
}

type Step = (talk: Talk) => Promise<void>;

/**
 * Runs passes over a kind until one is complete. A concurrent run leaves the work to this one, or
 * this one to the other.
 */
async function pass(each: (typeof RETENTION_KINDS)[number]): Promise<void> {
  const { rig } = holder;
  await changeRetention(rig, { kind: each.kind }, { completedAt: null });
  for (;;) {
    const step = await each(rig.turns.database, 0);
    if (step === null || !step.hasMore) return;
  }
}

/** Ends all work of the session, as a worker would. */
async function work({ name }: Talk): Promise<void> {
  const { rig } = holder;
  const worker = rig.turns.worker();
  for (;;) {
    const [row] = await readSessions(rig, { key: `agent:main:${name}`, waiting: above(0) }, 'id');
    if (row === undefined) break;
    await worker.runSession(row['id'] as SessionId);
  }
  worker.stop();
}

let sentInAll = 0;

async function send(talk: Talk, fails: boolean): Promise<void> {
  const { rig } = holder;
  sentInAll += 1;
  const say = `${talk.word} number ${sentInAll}.`;
  const text = fails
    ? `[[error: 400 message="no"]] ${say}`
    : `[[tool: echo {"say": "${say}"}]] [[reply: heard ${say}]] ${say}`;
  const key = `${talk.word}-${sentInAll}`;
  const answer = await rig.post(`/v1/sessions/${talk.name}/messages`, { text }, { 'idempotency-key': key });
  expect(answer.status).toBe(202);
  const sent = { text, key, id: answer.body.message.id as string, fails };
  talk.sent.push(sent);
  talk.fresh.push(sent);
}

const STEPS_OF_A_SESSION: Step[] = [
  (talk) => send(talk, false),
  (talk) => send(talk, false),
  async (talk) => {
    // Alone in its turn: messages that wait with it would fail, too.
    await work(talk);
    await send(talk, true);
    await work(talk);
  },
  work,
  work,
  async (talk) => {
    await work(talk);
    if (talk.sent.length === 0) return;
    expect((await holder.rig.post(`/v1/sessions/${talk.name}/reset`)).status).toBe(200);
    talk.fresh = [];
  },
  async ({ name, sent }) => {
    const one = sent.at(-1);
    if (one === undefined) return;
    const again = await holder.rig.post(
      `/v1/sessions/${name}/messages`,
      { text: one.text },
      { 'idempotency-key': one.key },
    );
    expect(again.body.message.id).toBe(one.id);
  },
];

const wordOf = (history: number, at: number, generation: number): string => `w${history}s${at}g${generation}x`;

async function play(history: number, random: () => number): Promise<{ sessions: Talk[]; goneWords: string[] }> {
  const pick = (below: number): number => Math.floor(random() * below);
  const sessions: Talk[] = Array.from({ length: SESSIONS }, (_, at) => ({
    name: `h${history}-${at}`,
    word: wordOf(history, at, 0),
    generation: 0,
    sent: [],
    fresh: [],
  }));
  const goneWords: string[] = [];
  const erase = async (talk: Talk, at: number): Promise<void> => {
    expect((await holder.rig.ask('DELETE', `/v1/sessions/${talk.name}`)).status).toBe(200);
    goneWords.push(talk.word);
    const generation = talk.generation + 1;
    Object.assign(talk, { word: wordOf(history, at, generation), generation, sent: [], fresh: [] });
  };
  for (let step = 1; step <= STEPS; step += 1) {
    // Different sessions, so that the model knows the order within each; retention runs
    // concurrently with all of them.
    const chosen = sessions
      .map((_, at) => at)
      .toSorted(() => random() - 0.5)
      .slice(0, 1 + pick(AT_ONCE_MAX));
    await Promise.all([
      ...chosen.map((at) => {
        const talk = sessions[at]!;
        if (random() < 0.08) return erase(talk, at);
        return STEPS_OF_A_SESSION[pick(STEPS_OF_A_SESSION.length)]!(talk);
      }),
      ...(random() < 0.6 ? [pass(EXPLAINING[pick(EXPLAINING.length)]!)] : []),
      ...(random() < 0.2 ? [pass(EXPLAINING[pick(EXPLAINING.length)]!)] : []),
    ]);
  }
  for (const talk of sessions) await work(talk);
  return { sessions, goneWords };
}

/** Returns what is wrong with a session whose work is done. */
async function faultsOf({ name, sent, fresh }: Talk): Promise<string[]> {
  const { rig } = holder;
  const faults: string[] = [];
  for (const { id, text, fails } of sent) {
    const { status, body } = await rig.get(`/v1/messages/${id}`);
    if (status !== 200) faults.push(`${text}: its message is gone`);
    else if (fails ? body.status !== 'failed' : body.reply === null) faults.push(`${text}: ${JSON.stringify(body)}`);
  }
  if (sent.length === 0) return faults;
  // What a provider has refused twice is hidden from the model, with what stood before it; it stays
  // in the transcript.
  const { items } = (await rig.get(`/v1/sessions/${name}/transcript?limit=200&state=all`)).body;
  const prompts = JSON.stringify(items.filter(({ role }: { role: string }) => role === 'user'));
  const places = fresh
    .filter(({ fails }) => !fails)
    .map(({ text }) => prompts.indexOf(JSON.stringify(text).slice(1, -1)));
  if (places.some((place, at) => place < 0 || place <= (places[at - 1] ?? -1)))
    faults.push(`${name}: the transcript has the messages at ${places.join(', ')}`);
  return faults;
}

/** Returns what is wrong with the tables as a whole. */
async function tableFaults(): Promise<unknown[]> {
  const { rig } = holder;
  const sessions = await readSessions(rig, {}, 'id', 'key', 'waiting');
  const inputs = await readInputs(rig, {}, 'sessionId', 'status');
  const turns = await readTurns(rig, {}, 'id', 'sessionId');
  const waits = sessions.filter(
    ({ id, waiting }) => waiting !== inputs.filter((row) => row.sessionId === id && row.status === 'waiting').length,
  );
  const [known, ended] = [sessions, turns].map((rows) => new Set<string | null>(rows.map(({ id }) => id)));
  const others = [
    await readEntries(rig, {}, 'sessionId'),
    await readSystemEvents(rig),
    await readEndedTranscripts(rig),
  ];
  const ofSessions = [inputs, turns, ...others].flat();
  const ofTurns = [
    await readModelCalls(rig),
    await readToolCalls(rig),
    await readDeadLetters(rig, { state: 'open' }),
  ].flat();
  return [
    ...waits.map(({ key }) => ['waiting', key]),
    ...ofTurns.filter(({ turnId }) => turnId !== null && !ended!.has(turnId)).map((row) => ['row of no turn', row]),
    ...ofSessions.filter(({ sessionId }) => !known!.has(sessionId)).map((row) => ['row of no session', row]),
  ];
}

async function calls(): Promise<unknown> {
  await rollUpAll(holder.rig.turns.database);
  return sumOf(await readUsageBuckets(holder.rig, { size: 'hour' }), 'calls');
}

test('retention and erasures delete, concurrently with turns, what they should and nothing else (G1, G2, G3)', async () => {
  const { rig } = holder;
  await beginRetention(rig.turns.database);
  const seed = seedOfRun();
  const random = randomOf(seed);
  for (let history = 1; history <= HISTORIES; history += 1) {
    const { sessions, goneWords } = await play(history, random);
    const where = `seed ${seed}, history ${history}`;
    for (const talk of sessions) expect(await faultsOf(talk), where).toEqual([]);
    for (const word of goneWords) expect(await tablesWith(rig.rows, word), where).toEqual({});
    expect(await tableFaults(), where).toEqual([]);
    // No message waits any more: all explanatory rows are deleted, and the sums stay.
    const before = await calls();
    for (const each of RETENTION_KINDS) await pass(each);
    expect(await calls(), where).toEqual(before);
    expect(await tableFaults(), where).toEqual([]);
    for (const { name } of sessions) {
      await rig.ask('DELETE', `/v1/sessions/${name}`);
      expect(await tablesWith(rig.rows, `agent:main:${name}`), where).toEqual({});
    }
    for (const { word } of sessions) expect(await tablesWith(rig.rows, word), where).toEqual({});
  }
});
