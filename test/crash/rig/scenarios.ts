// Small scenarios of sessions that interact: how each begins, when it is over, and what must hold
// then, whichever process crashed: nothing lost, doubled, announced twice or not at all, no effect
// twice unless its tool allows it (G1, G3, G11, G18).
import type { AcceptedMessage } from './api-client.ts';
import type { CrashRig } from './crash-rig.ts';
import { isQuiet, keyOf, readFamilyRows, readInputs, readLeftovers, readRuns } from './family-rows.ts';
import { changedTables } from './session-rows.ts';
import { waitUntil } from './wait-until.ts';

export interface Scenario {
  name: string;
  /** How many runs of subagents it makes. */
  runs: number;
  /** The statements that are struck; absent: as the sweep chooses. */
  kinds?: readonly string[];
  /**
   * Sends the first message; `begun` resolves when its first turn is open or a process was struck.
   */
  begin(rig: CrashRig, play: Play, begun: Promise<unknown>): Promise<void>;
  /** Returns what is wrong, one sentence each. */
  judge(rig: CrashRig, play: Play): Promise<string[]>;
}

/** One run of a scenario. */
export interface Play {
  session: string;
  messages: AcceptedMessage[];
}

/**
 * A turn with an effect and a delivery, which is tried again and again, and its session as it is
 * after it.
 */
interface Original {
  turnId: string;
  rows: Record<string, string>;
}

/** Tables of the original that change until its reply is delivered. */
const OF_DELIVERIES: ReadonlySet<string> = new Set(['deliveries', 'events', 'sessions']);
const ORIGINAL: Play = { session: 'tried', messages: [] };
const originals = new WeakMap<CrashRig, Promise<Original>>();

async function makeOriginal(rig: CrashRig): Promise<Original> {
  await say(rig, ORIGINAL, `First. ${effect(ORIGINAL, 'one')} [[reply: Done.]]`, { deliver: { url: rig.effects.url } });
  await waitUntil('the turn that is tried is over', ORIGINAL_MS_MAX, () => isOver(rig, ORIGINAL, { runs: 0 }));
  const { turnId } = ORIGINAL.messages[0] as unknown as { turnId: string };
  return { turnId, rows: await readFamilyRows(rig, ORIGINAL.session) };
}

/**
 * The try has the recorded result for the effect that the original had, and has not run the other
 * one.
 */
async function judgeTry(rig: CrashRig, play: Play): Promise<string[]> {
  const [original, rows] = [await originals.get(rig), await readFamilyRows(rig, play.session)];
  const results = (await rig.client.transcript(keyOf(play.session)))
    .flatMap(({ content }) => content.filter(({ type }) => type === 'tool_result'))
    .map(({ content }) => JSON.stringify(content));
  // The server gets the deliveries, too.
  const own = rig.effects.effects.filter(({ sessionKey }) => sessionKey === keyOf(play.session));
  const changed = changedTables(original?.rows ?? {}, await readFamilyRows(rig, ORIGINAL.session));
  return [
    ...(own.length === 0 ? [] : [`it had effects: ${JSON.stringify(own)}`]),
    ...(JSON.stringify(results.map((result) => result.includes('Not run: this is a try.'))) === '[false,true]'
      ? []
      : [`the results are ${results.join(', ')}`]),
    ...(rows['deliveries'] === undefined ? [] : [`it delivered: ${rows['deliveries']}`]),
    ...changed.filter((table) => !OF_DELIVERIES.has(table)).map((table) => `the original has other ${table}`),
  ];
}

const ANSWER_MS = 300;
const ORIGINAL_MS_MAX = 240_000;

function spawn(label: string, task: string): string {
  return `[[tool: sessions_spawn ${JSON.stringify({ label, task })}]]`;
}

function effect(play: Play, name: string): string {
  return `[[tool: http_effect ${JSON.stringify({ key: `${play.session}-${name}` })}]]`;
}

async function say(rig: CrashRig, play: Play, text: string, more?: object): Promise<void> {
  play.messages.push(await rig.client.send(play.session, text, more));
}

export const SCENARIOS: readonly Scenario[] = [
  {
    name: 'spawn with two children',
    runs: 2,
    begin: (rig, play) =>
      say(
        rig,
        play,
        `m1. ${spawn('t1', `${effect(play, 'one')} [[reply: one]]`)} & ${spawn('t2', `${effect(play, 'two')} [[reply: two]]`)} [[reply: Begun.]]`,
      ),
    judge: (rig, play) => judgeFamily(rig, play, { effects: ['one', 'two'] }),
  },
  {
    name: 'nested spawn',
    runs: 2,
    begin: (rig, play) => {
      const below = spawn('t2', `${effect(play, 'below')} [[reply: below]]`);
      return say(
        rig,
        play,
        `m1. ${spawn('t1', `${below} [[tool: sessions_yield {}]] [[reply: never]]`)} [[reply: Begun.]]`,
      );
    },
    judge: (rig, play) => judgeFamily(rig, play, { effects: ['below'] }),
  },
  {
    name: 'nested spawn with an interim answer',
    runs: 2,
    begin: (rig, play) => {
      const below = spawn('t2', `${effect(play, 'below')} [[reply: below]]`);
      return say(rig, play, `m1. ${spawn('t1', `${below} [[reply: A helper has begun.]]`)} [[reply: Begun.]]`);
    },
    judge: (rig, play) => judgeFamily(rig, play, { effects: ['below'] }),
  },
  {
    name: 'announce while the parent is busy',
    runs: 2,
    begin: (rig, play) =>
      say(
        rig,
        play,
        `m1. ${spawn('t1', '[[reply: one]]')} & ${spawn('t2', '[[reply: two]]')} [[delay: ${ANSWER_MS * 2}]] [[reply: Done.]]`,
      ),
    judge: (rig, play) => judgeFamily(rig, play, { effects: [] }),
  },
  {
    name: 'collect of five messages',
    runs: 0,
    async begin(rig, play, begun) {
      await say(rig, play, `m1. [[delay: ${ANSWER_MS}]] [[reply: Yes.]]`);
      await begun;
      for (let n = 2; n <= 6; n += 1) await say(rig, play, `m${n}. [[reply: Yes.]]`);
    },
    judge: async (rig, play) => [
      ...judgeSettled(play, ['answered']),
      ...(await judgeFamily(rig, play, { effects: [] })),
    ],
  },
  {
    name: 'steer',
    runs: 0,
    async begin(rig, play, begun) {
      await say(
        rig,
        play,
        `m1. ${effect(play, 'first')} [[delay: ${ANSWER_MS}]] ${effect(play, 'second')} [[reply: Yes.]]`,
      );
      await begun;
      await say(rig, play, 'm2. and this', { mode: 'steer' });
    },
    judge: async (rig, play) => [
      ...judgeSettled(play, ['answered']),
      // A message that arrives before tools have begun skips them.
      ...(await judgeFamily(rig, play, { effects: ['first', 'second'], mayBeSkipped: true })),
    ],
  },
  {
    name: 'a try',
    runs: 0,
    kinds: ['commit-step', 'finish-turn'],
    async begin(rig, play) {
      if (!originals.has(rig)) originals.set(rig, makeOriginal(rig));
      const { turnId } = await originals.get(rig)!;
      const text = `m1. ${effect(ORIGINAL, 'one')} ${effect(ORIGINAL, 'two')} [[reply: Yes.]]`;
      const { body } = await rig.client.ask(`/v1/turns/${turnId}/try`, { text });
      const { message } = body as { message: AcceptedMessage & { sessionKey: string } };
      play.session = message.sessionKey.replace(keyOf(''), '');
      play.messages.push(message);
    },
    judge: async (rig, play) => [
      ...judgeSettled(play, ['answered']),
      ...(await judgeTry(rig, play)),
      ...(await judgeFamily(rig, play, { effects: [] })),
    ],
  },
  {
    name: 'interrupt',
    runs: 0,
    async begin(rig, play, begun) {
      await say(rig, play, `m1. ${effect(play, 'first')} [[delay: ${ANSWER_MS}]] [[reply: Yes.]]`);
      await begun;
      await say(rig, play, 'm2. this instead [[reply: Yes.]]', { mode: 'interrupt' });
    },
    judge: async (rig, play) => [
      ...judgeSettled({ ...play, messages: play.messages.slice(0, 1) }, ['answered', 'cancelled']),
      ...judgeSettled({ ...play, messages: play.messages.slice(1) }, ['answered']),
      ...(await judgeHints(rig, play)),
      ...(await judgeFamily(rig, play, { effects: ['first'], mayBeSkipped: true })),
    ],
  },
];

/** True when every message is settled and no session has work left. */
export async function isOver(rig: CrashRig, play: Play, scenario: Pick<Scenario, 'runs'>): Promise<boolean> {
  play.messages = await Promise.all(play.messages.map(({ id }) => rig.client.message(id)));
  const isSettled = play.messages.every(({ status }) => status !== 'waiting' && status !== 'claimed');
  return isSettled && (await isQuiet(rig, play.session, scenario.runs));
}

async function judgeFamily(
  rig: CrashRig,
  play: Play,
  { effects, mayBeSkipped = false }: { effects: string[]; mayBeSkipped?: boolean },
): Promise<string[]> {
  const key = keyOf(play.session);
  const leftovers = Object.entries(await readLeftovers(rig, play.session));
  return [
    ...leftovers.flatMap(([name, count]) => (count === 0 ? [] : [`${name} is ${count} instead of 0`])),
    ...judgeMarkers(play, (await readInputs(rig, key)).join('\n')),
    ...(await judgeRuns(rig, play)),
    ...judgeEffects(rig, play, effects, mayBeSkipped),
    ...judgeRequests(rig, play),
  ];
}

function judgeSettled({ messages }: Play, allowed: string[]): string[] {
  return messages
    .filter(({ status }) => !allowed.includes(status))
    .map(({ seq, status, error }) => `message ${seq} ended ${status}: ${JSON.stringify(error)}`);
}

/** Each message is in a transcript once, in the order in which they were accepted. */
function judgeMarkers({ messages }: Play, said: string): string[] {
  const markers = messages.map((_, index) => `m${index + 1}. `);
  const faults = markers.flatMap((marker) => {
    const times = said.split(marker).length - 1;
    return times === 1 ? [] : [`"${marker}" is said ${times} times`];
  });
  const places = markers.map((marker) => said.indexOf(marker));
  return places.every((place, index) => index === 0 || place > (places[index - 1] ?? 0))
    ? faults
    : [...faults, `the messages are out of order: ${places.join(', ')}`];
}

/**
 * Each run was spawned once, ended well, and its end was announced once to the session that spawned
 * it, with its text.
 */
async function judgeRuns(rig: CrashRig, play: Play): Promise<string[]> {
  const runs = await readRuns(rig, play.session);
  const labels = runs.map(({ label }) => label);
  const faults = new Set(labels).size === labels.length ? [] : [`runs were spawned twice: ${labels.join(', ')}`];
  for (const {
    label,
    status,
    notified_rows: rows,
    notified_key: notified,
    notified_status: notifiedStatus,
    parent_key: parent,
  } of runs) {
    if (status !== 'ok') faults.push(`run ${label} ended ${status}`);
    if (rows !== 1) faults.push(`run ${label} is announced ${rows} times`);
    if (notified !== parent) faults.push(`run ${label} is announced to ${notified} instead of ${parent}`);
    if (notifiedStatus !== 'answered' && notifiedStatus !== 'silent')
      faults.push(`the announcement of ${label} is ${notifiedStatus}`);
    const said =
      (await readInputs(rig, parent)).join('\n').split(`A subagent task "${label}" just completed`).length - 1;
    if (said !== 1) faults.push(`the end of ${label} is said ${said} times`);
  }
  return faults;
}

function judgeEffects(rig: CrashRig, play: Play, names: string[], mayBeSkipped: boolean): string[] {
  return names.flatMap((name) => {
    const times = rig.effects.effects.filter(({ key }) => key === `${play.session}-${name}`).length;
    if (times > 1) return [`effect ${name} happened ${times} times`];
    // A call that was running when its worker crashed is reported as unknown and not run again.
    return times === 0 && !mayBeSkipped && !wasUnknown(rig, play) ? [`effect ${name} did not happen`] : [];
  });
}

function wasUnknown(rig: CrashRig, play: Play): boolean {
  return rig.requests.some((request) => {
    const text = JSON.stringify(request.body);
    return text.includes(`${play.session}-`) && text.includes('outcome unknown');
  });
}

/**
 * Every request was well-formed, and no request of a session has an older epoch than an earlier
 * one. One such request per session is tolerated: the struck process runs other sessions too, and
 * can be frozen between its last check of the lease and the write to the socket. That takes about
 * 0.1 ms, and several ms on a busy machine. The gap cannot be closed, because a provider knows no
 * epochs, so requiring none would depend on timing. test/model/late-call.test.ts requires that a
 * freeze at any earlier point leaves the request unsent.
 */
function judgeRequests(rig: CrashRig, play: Play): string[] {
  const faults: string[] = [];
  const highest = new Map<string, number>();
  const late = new Set<string>();
  for (const request of rig.requests) {
    const session = String(request.headers['x-holdfast-session']);
    if (!JSON.stringify(request.body).includes(play.session) && session !== keyOf(play.session)) continue;
    if (request.status !== null && request.status >= 400) faults.push(`a request was refused with ${request.status}`);
    const epoch = Number(request.headers['x-holdfast-epoch'] ?? 0);
    if (epoch < (highest.get(session) ?? 0)) {
      if (late.has(session)) faults.push(`${session} asked more than once with an epoch below an earlier one`);
      late.add(session);
    }
    highest.set(session, Math.max(epoch, highest.get(session) ?? 0));
  }
  return faults;
}

/** The hint that a turn was stopped appears once if one was stopped, otherwise not at all. */
async function judgeHints(rig: CrashRig, play: Play): Promise<string[]> {
  const said = (await readInputs(rig, keyOf(play.session))).join('\n');
  const times = said.split('The previous agent run was aborted by the user').length - 1;
  const expected = play.messages[0]?.status === 'cancelled' ? 1 : 0;
  // If a turn was struck before it was open, the next turn answers its message, and no turn was
  // stopped.
  return times <= expected ? [] : [`the abort hint came ${times} times`];
}
