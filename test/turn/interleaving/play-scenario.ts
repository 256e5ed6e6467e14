// Plays a scenario both on the real system (PostgreSQL, a model server, workers that crash) and on
// the reference model, and reports the differences. Everything that happens during a turn happens
// inside its tool, so both sides see it at the same point. After each step, every waiting message
// has to say why it waits.
import * as fc from 'fast-check';
import type { QueueMode } from '../../../src/core/queue-mode.ts';
import { abortSession } from '../../../src/kernel/effects/control.ts';
import type { Tool } from '../../../src/tools/tool.ts';
import { countDoorbells } from '../../rows/doorbells.ts';
import { readInputsWithTurns } from '../../rows/inputs.ts';
import { changeSessions, readSessions } from '../../rows/sessions.ts';
import { now } from '../../rows/table.ts';
import { readTurns } from '../../rows/turns.ts';
import type { TurnRig } from '../turn-rig.ts';
import { ReferenceSession } from './reference-session.ts';
import { wrongReasons, wrongReasonsPaused } from './wrong-reasons.ts';

export type Action = { kind: 'send'; mode: QueueMode; route: string } | { kind: 'abort' } | { kind: 'die' };

/**
 * What arrives while nothing runs, and what happens within the following tool calls, call by call.
 */
interface Round {
  arrivals: Extract<Action, { kind: 'send' }>[];
  calls: Action[][];
}

export type Scenario = Round[];

const MODES: QueueMode[] = ['collect', 'followup', 'steer', 'steer-backlog', 'interrupt', 'rollback', 'reject'];
const DEATHS_MAX = 2;

const send = fc.record({
  kind: fc.constant('send' as const),
  mode: fc.constantFrom(...MODES),
  route: fc.constantFrom('here', 'here', 'there'),
});
const action = fc.oneof(
  { arbitrary: send, weight: 8 },
  { arbitrary: fc.constant({ kind: 'abort' as const }), weight: 1 },
  { arbitrary: fc.constant({ kind: 'die' as const }), weight: 1 },
);

/** Any scenario of a few rounds. */
export const anyScenario: fc.Arbitrary<Scenario> = fc.array(
  fc.record({
    arrivals: fc.array(send, { minLength: 1, maxLength: 2 }),
    calls: fc.array(fc.array(action, { maxLength: 3 }), { maxLength: 3 }),
  }),
  { minLength: 1, maxLength: 2 },
);

interface Play {
  session: ReferenceSession;
  calls: Action[][];
  deaths: number;
  messages: number;
  /** What was wrong first with the reasons why messages wait. */
  wrongWhy: string | null;
  die: () => void;
  act: (action: Action) => Promise<void>;
}

const plays = new Map<string, Play>();

/**
 * The tool in which the actions happen. It is never run twice: its outcome is unknown to a worker
 * that takes the turn over.
 */
export const stepTool: Tool = {
  spec: { name: 'step', description: 'A step', input_schema: { type: 'object', properties: {} } },
  summary: 'A step',
  isIdempotent: false,
  async run(_input, call) {
    const play = plays.get(call.sessionKey);
    if (play === undefined) throw new Error(`no scenario uses the session ${call.sessionKey}`);
    for (const next of play.calls.shift() ?? []) {
      if (next.kind !== 'die') await play.act(next);
      else if (play.deaths < DEATHS_MAX) {
        play.deaths += 1;
        play.die();
        return await new Promise<never>(() => undefined);
      }
    }
    play.session.endBatch();
    return { content: 'stepped', isError: false };
  },
};

const TURN_TEXT = '[[tool: step {}]] [[tool: step {}]] [[reply: done]]';
/** More than the turns and crashes of any scenario. */
const RUNS_MAX = 60;

/**
 * Plays a scenario in its own session; resolves with what is wrong, null when nothing is.
 * `asksWhy`: also checks why messages wait.
 */
export async function playScenario(
  rig: TurnRig,
  { name, asksWhy }: { name: string; asksWhy: boolean },
  scenario: Scenario,
): Promise<string | null> {
  const session = new ReferenceSession();
  const sessionId = await rig.sessionOf(name);
  const key = `agent:main:${name}`;
  const names = new Map<string, string>();
  let died = Promise.withResolvers<'died'>();
  const play: Play = {
    session,
    calls: [],
    deaths: 0,
    messages: 0,
    wrongWhy: null,
    die: () => died.resolve('died'),
    async act(next) {
      if (next.kind === 'abort') {
        session.abort();
        await abortSession(rig, { sessionKey: key, keepQueued: false });
      }
      if (next.kind !== 'send') return;
      play.messages += 1;
      const message = `m${play.messages}`;
      // A message that arrives during a turn has no script: the script of the turn continues.
      const text = session.isBusy ? message : `${message} ${TURN_TEXT}`;
      session.send({ name: message, mode: next.mode, route: next.route });
      names.set(await rig.send(name, text, { mode: next.mode, chatId: next.route }), message);
      await askWhy(session.isBusy ? 'session_busy' : 'ring_lost');
    },
  };
  const askWhy = async (expected: string): Promise<void> => {
    if (asksWhy) play.wrongWhy ??= await wrongReasons(rig, key, expected);
  };
  plays.set(key, play);
  try {
    for (const { arrivals, calls } of scenario) {
      for (const arrival of arrivals) await play.act(arrival);
      if (asksWhy) play.wrongWhy ??= await wrongReasonsPaused(rig, key);
      play.calls = structuredClone(calls);
      // True when the model has finished the turn and its next worker has to end it.
      let isOwed = false;
      for (let run = 1; isOwed || !session.isIdle; run += 1) {
        if (run > RUNS_MAX) return 'the session does not come to rest';
        if (!session.isBusy && !isOwed) session.start();
        isOwed = false;
        const worker = rig.worker();
        // Its lease is long enough: no lease is renewed, and only the writes of the turn check for
        // a stop.
        worker.stop();
        const end = await Promise.race([worker.run(name), died.promise]);
        if (end === 'died') {
          died = Promise.withResolvers();
          await changeSessions(rig, { id: sessionId }, { leaseExpiresAt: now });
          await askWhy('lock_of_lost_worker');
          session.takeOver();
          isOwed = !session.isBusy;
        } else {
          if (session.isBusy) session.endTurn();
          await askWhy('ring_lost');
        }
      }
    }
    return play.wrongWhy ?? (await difference(rig, sessionId, { session, names }));
  } finally {
    plays.delete(key);
  }
}

/** The differences between the rows and the model. */
async function difference(
  rig: TurnRig,
  sessionId: string,
  { session, names }: { session: ReferenceSession; names: Map<string, string> },
): Promise<string | null> {
  const rows = await readInputsWithTurns(rig, { sessionId });
  const nameOf = ({ id, causeKey }: { id: string; causeKey: string | null }): string =>
    names.get(id) ?? `${names.get(String(causeKey).replace('follow-up:', '')) ?? '?'} again`;
  const fates = Object.fromEntries(rows.map((row) => [nameOf(row), row.status]));
  const expected = Object.fromEntries(session.fates);
  if (JSON.stringify(sorted(fates)) !== JSON.stringify(sorted(expected))) {
    return `messages ended ${JSON.stringify(fates)}, expected ${JSON.stringify(expected)}`;
  }
  const unexplained = rows.filter(
    ({ status, error, turn }) =>
      ['cancelled', 'dropped', 'failed'].includes(status) && error === null && (turn?.error ?? null) === null,
  );
  if (unexplained.length > 0) return `no reason is given for ${unexplained.map(nameOf).join(', ')}`;
  const turns = await readTurns(rig, { sessionId }, 'id', 'status', 'error');
  // The model server refuses what the real one would refuse, and the turn fails.
  const failed = turns.find(({ status }) => status === 'failed');
  if (failed !== undefined) return `a turn failed: ${JSON.stringify(failed['error'])}`;
  const took = turns.map(({ id }) => rows.filter(({ turnId }) => turnId === id).map(nameOf));
  if (JSON.stringify(took) !== JSON.stringify(session.turns)) {
    return `turns took ${JSON.stringify(took)}, expected ${JSON.stringify(session.turns)}`;
  }
  const [row] = await readSessions(rig, { id: sessionId }, 'waiting', 'turnId', 'owner');
  const left = { ...row, bells: await countDoorbells(rig, { sessionId }) };
  const rest = { waiting: 0, turnId: null, owner: null, bells: 0 };
  return JSON.stringify(left) === JSON.stringify(rest) ? null : `left behind: ${JSON.stringify(left)}`;
}

function sorted(fates: Record<string, unknown>): [string, unknown][] {
  return Object.entries(fates).toSorted(([one], [other]) => (one < other ? -1 : 1));
}
