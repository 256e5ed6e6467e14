// Goal: a message whose POST was answered is stored once, and one whose POST was not answered at
// most once, whatever happened to the process that accepted it. Method: record the database round
// trips of a POST, then post again for each of them with an api process that is killed, frozen or
// cut off right before or right after it; the client retries at another process with the same
// Idempotency-Key. A process that also runs turns takes the session's lock with the message, and
// loses it in the crash.
import { describe, expect, test } from 'vitest';
import { readInputs } from '../rows/inputs.ts';
import { withTestDatabase } from '../servers/postgres.ts';
import type { HeldBytes, RoundTrip } from '../servers/round-trips.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import { isLongForm } from '../servers/test-form.ts';
import type { AcceptedMessage, ApiAnswer } from './rig/api-client.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import type { FaultKind, StrikePoint } from './rig/fault.ts';
import { isOfTurn, kindOf } from './rig/statement-kinds.ts';
import { nameOf } from './rig/strike.ts';
import { everyPoint, isFullSweep, printPoints } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

const settledWithinMs = 240_000;
/**
 * Which process runs the turn depends on a race: a POST that does not reach the round trip is
 * repeated with another session.
 */
const triesMax = 5;

let rig: CrashRig;
let second: Victim;
let posts: Map<string, number>;
let sessions = 0;

const newSession = (): string => `accept-${(sessions += 1)}`;
const textOf = (marker: string): string => `${marker} [[reply: Yes.]]`;

/** The last round trip of a POST: it rings for a worker, or begins the turn itself. */
const lastKinds = ['queue: add', 'open-turn'];

/**
 * The kinds of round trips of a POST to a session that does not exist yet, in order; each occurs
 * once. Periodic statements, and those of an earlier POST, are left out.
 */
async function recordPost(): Promise<Map<string, number>> {
  const session = newSession();
  const kinds: string[] = [];
  const ended = Promise.withResolvers<void>();
  const stop = rig.api.proxy.onRoundTrip((trip) => {
    const kind = kindOf(trip);
    if (trip.outcome !== 'pending' || !isOfTurn(trip) || kind === 'renew') return;
    if (kind !== 'ensure-session' && kinds.length === 0) return;
    if (kind === 'queue: take' || kind === 'queue: finish') return;
    kinds.push(kind);
    if (lastKinds.includes(kind)) ended.resolve();
  });
  const answer = await rig.clientOf(rig.api).post(session, textOf('recorded'), crypto.randomUUID());
  expect(answer.status).toBe(202);
  await ended.promise;
  stop();
  await waitUntilSettled(session);
  return new Map(kinds.slice(0, kinds.findIndex((kind) => lastKinds.includes(kind)) + 1).map((kind) => [kind, 1]));
}

interface Posted {
  session: string;
  isStruck: boolean;
  answers: ApiAnswer[];
}

/**
 * Posts to the process that the fault strikes, and again to the other one when no answer arrives;
 * three messages in order.
 */
async function post(point: StrikePoint): Promise<Posted> {
  await rig.api.revive();
  const session = newSession();
  const thaw = Promise.withResolvers<void>();
  const struck = Promise.withResolvers<true>();
  const hit = async (): Promise<HeldBytes> => {
    if (point.fault === 'kill') await rig.api.kill();
    if (point.fault === 'freeze') rig.api.freeze();
    struck.resolve(true);
    if (point.fault !== 'freeze') return 'drop';
    await thaw.promise;
    rig.api.thaw();
    return 'forward';
  };
  const matches = (trip: RoundTrip): boolean => kindOf(trip) === point.kind;
  const armed = rig.api.proxy.arm({ when: point.when, at: point.ordinal, matches, hit });
  const key = crypto.randomUUID();
  const first = rig.clientOf(rig.api).post(session, textOf('m1'), key);
  // The process is struck before it answers, or afterwards if it rings or begins the turn; a frozen
  // one does not answer before it wakes.
  const inTime = await Promise.race([first.catch(() => null), struck.promise.then(() => null)]);
  const again = inTime ?? (await rig.clientOf(second).post(session, textOf('m1'), key));
  await Promise.race([struck.promise, waitUntilSettled(session)]);
  const isStruck = armed.isTaken();
  if (isStruck) await struck.promise;
  thaw.resolve();
  armed.disarm();
  const late = await first.catch(() => null);
  for (const marker of ['m2', 'm3']) await rig.clientOf(second).send(session, textOf(marker));
  return { session, isStruck, answers: late === null ? [again] : [again, late] };
}

/** Returns what is wrong with a session that three messages were posted to. */
async function judgePosted({ session, answers }: Posted): Promise<string[]> {
  const faults = answers
    .filter(({ status }) => status !== 202)
    .map(({ status, body }) => `answered ${status}: ${JSON.stringify(body)}`);
  const ids = new Set(answers.map(({ body }) => (body as { message?: AcceptedMessage }).message?.id));
  if (ids.size > 1) faults.push(`the same key was answered with different messages: ${[...ids].join(', ')}`);
  const rows = await waitUntilSettled(session);
  const markers = rows.map(({ text }) => text?.slice(0, 2));
  if (markers.join() !== 'm1,m2,m3') faults.push(`the inbox holds ${markers.join()}`);
  const prompts = (await rig.clientOf(second).transcript(session)).filter(
    ({ kind }) => kind === 'prompt' || kind === 'steer',
  );
  const said = prompts.flatMap(({ content }) => [
    ...(content
      .map(({ text }) => text ?? '')
      .join()
      .match(/\bm[123]\b/g) ?? []),
  ]);
  if (said.join() !== 'm1,m2,m3') faults.push(`the transcript says ${said.join()}`);
  return faults;
}

interface InboxRow {
  text: string | null;
  status: string;
}

function waitUntilSettled(session: string): Promise<InboxRow[]> {
  return waitUntil(`${session} is settled`, settledWithinMs, async () => {
    const found = await readInbox(session);
    return found.length > 0 && found.every(({ status }) => status !== 'waiting' && status !== 'claimed') && found;
  });
}

async function readInbox(session: string): Promise<InboxRow[]> {
  return readInputs(rig.database, { sessionKey: `agent:main:${session}` }, 'text', 'status');
}

async function sweep(fault: FaultKind, every: number): Promise<{ faults: string[]; missed: string[] }> {
  const faults: string[] = [];
  const missed: string[] = [];
  // One in `every`, with another fault at each.
  const first = { kill: 0, freeze: 3, cut: 5, race: 2 }[fault];
  const all = everyPoint(posts, fault);
  const points = all.filter((_, at) => isFullSweep() || at % every === first % every);
  printPoints('a POST', points, all);
  for (const point of points) {
    let isStruck = false;
    for (let tries = 0; tries < triesMax && !isStruck; tries += 1) {
      const posted = await post(point);
      isStruck = posted.isStruck;
      faults.push(...(await judgePosted(posted)).map((violation) => `${nameOf(point)}: ${violation}`));
    }
    if (!isStruck) missed.push(nameOf(point));
  }
  return { faults, missed };
}

describe.each([
  // The long form strikes both sides of each round trip, the short form one side of every fourth.
  { name: 'an api process', roles: 'api', every: isLongForm() ? 1 : 8 },
  ...(isLongForm() ? [{ name: 'a process that works, too', roles: 'api,worker', every: 3 }] : []),
])('$name', ({ roles, every }) => {
  shareAmongTests(async (onEnd) => {
    const testDatabase = await withTestDatabase();
    onEnd(() => testDatabase.drop());
    const made = await startCrashRig({ databaseUrl: testDatabase.url, workers: 1, apiRoles: roles });
    onEnd(() => made.close());
    rig = made;
    second = await rig.startVictim('api-2', 'api');
    await recordPost();
    posts = await recordPost();
  });

  test('a POST is accepted in its own statement', () => {
    expect([...posts.keys()]).toEqual(expect.arrayContaining(['ensure-session', 'accept']));
  });

  test.each(['kill', 'freeze', 'cut'] as const)(
    'a message whose api process suffers a %s is there once and in order (G1, G2, G3)',
    async (fault) => {
      const { faults, missed } = await sweep(fault, every);
      expect(faults).toEqual([]);
      expect(missed).toEqual([]);
    },
  );
});
