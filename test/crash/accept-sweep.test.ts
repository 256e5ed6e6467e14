// Goal: a message that was answered is there once, and one that was not is there at most once, whatever became of the process that
// took it. Method: record the database round trips of a POST, then post again for each of them with an api process that is
// killed, frozen or cut off right before or right after it; the client tries again elsewhere with the same Idempotency-Key. A process
// that works, too, takes the session's lock with the message, and dies with it.
import { describe, expect, test } from 'vitest';
import { withTestDatabase } from '../servers/postgres.ts';
import type { HeldBytes, RoundTrip } from '../servers/round-trips.ts';
import { shareAmongTests } from '../servers/share-among-tests.ts';
import type { AcceptedMessage, ApiAnswer } from './rig/api-client.ts';
import { startCrashRig, type CrashRig } from './rig/crash-rig.ts';
import type { FaultKind, StrikePoint } from './rig/fault.ts';
import { kindOf } from './rig/statement-kinds.ts';
import { nameOf } from './rig/strike.ts';
import { everyPoint } from './rig/sweep-points.ts';
import type { Victim } from './rig/victim.ts';
import { waitUntil } from './rig/wait-until.ts';

/** How long the client waits for an api process that sleeps before it tries another one. */
const patienceMs = 700;
const settledWithinMs = 15_000;

let rig: CrashRig;
let second: Victim;
let posts: Map<string, number>;
let sessions = 0;

const newSession = (): string => `accept-${(sessions += 1)}`;
const textOf = (marker: string): string => `${marker} [[reply: Yes.]]`;

/** The round trips of a POST to a session that does not exist yet. */
async function recordPost(): Promise<Map<string, number>> {
  const kinds: string[] = [];
  const isOwn = (trip: RoundTrip): boolean => trip.outcome === 'pending' && kindOf(trip) !== 'queue: poll';
  const stop = rig.api.proxy.onRoundTrip((trip) => isOwn(trip) && kinds.push(kindOf(trip)));
  const answer = await rig.clientOf(rig.api).post(newSession(), textOf('recorded'), crypto.randomUUID());
  stop();
  expect(answer.status).toBe(202);
  return new Map([...Map.groupBy(kinds, (kind) => kind)].map(([kind, all]) => [kind, all.length]));
}

interface Posted {
  session: string;
  isStruck: boolean;
  answers: ApiAnswer[];
}

/** Posts to the process that the fault befalls, and again to the other one when no answer comes; three messages in order. */
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
  const inTime = await orNull(first);
  const again = inTime ?? (await rig.clientOf(second).post(session, textOf('m1'), key));
  // The ring goes out after the answer.
  const isStruck = (await orNull(struck.promise)) === true;
  thaw.resolve();
  armed.disarm();
  const late = await first.catch(() => null);
  for (const marker of ['m2', 'm3']) await rig.clientOf(second).send(session, textOf(marker));
  return { session, isStruck, answers: late === null ? [again] : [again, late] };
}

/** The value of the promise, or null when it rejects or the client's patience ends. */
function orNull<Value>(promise: Promise<Value>): Promise<Value | null> {
  const patience = new Promise<null>((resolve) => setTimeout(resolve, patienceMs, null));
  return Promise.race([promise.catch(() => null), patience]);
}

/** What is wrong with a session that three messages were posted to. */
async function judgePosted({ session, answers }: Posted): Promise<string[]> {
  const faults = answers
    .filter(({ status }) => status !== 202)
    .map(({ status, body }) => `answered ${status}: ${JSON.stringify(body)}`);
  const ids = new Set(answers.map(({ body }) => (body as { message?: AcceptedMessage }).message?.id));
  if (ids.size > 1) faults.push(`the same key was answered with different messages: ${[...ids].join(', ')}`);
  const rows = await waitUntil(`${session} is settled`, settledWithinMs, async () => {
    const found = await readInbox(session);
    return found.every(({ status }) => status !== 'waiting' && status !== 'claimed') && found;
  });
  const markers = rows.map(({ text }) => text.slice(0, 2));
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

async function readInbox(session: string): Promise<{ text: string; status: string }[]> {
  const { rows } = await rig.database.query<{ text: string; status: string }>(
    `select i.body->>'text' as text, i.status from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id
     where s.key = $1 order by i.seq`,
    [`agent:main:${session}`],
  );
  return rows;
}

async function sweep(fault: FaultKind): Promise<{ faults: string[]; missed: string[] }> {
  const faults: string[] = [];
  const missed: string[] = [];
  for (const point of everyPoint(posts, fault)) {
    const posted = await post(point);
    if (!posted.isStruck) missed.push(nameOf(point));
    faults.push(...(await judgePosted(posted)).map((violation) => `${nameOf(point)}: ${violation}`));
  }
  return { faults, missed };
}

describe.each([
  { name: 'an api process', roles: 'api' },
  { name: 'a process that works, too', roles: 'api,worker' },
])('$name', ({ roles }) => {
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

  test('a POST is accepted in a statement of its own', () => {
    expect([...posts.keys()]).toEqual(expect.arrayContaining(['ensure-session', 'accept']));
  });

  test.each(['kill', 'freeze', 'cut'] as const)(
    'a message whose api process suffers a %s is there once and in order (G1, G2, G3)',
    async (fault) => {
      const { faults, missed } = await sweep(fault);
      expect(faults).toEqual([]);
      expect(missed).toEqual([]);
    },
  );
});
