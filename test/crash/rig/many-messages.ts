// Many messages in many concurrent sessions, and the check of their end state: each message is in
// its session's inbox once, ended well, and is in the transcript once and in order.
import type { CrashRig } from './crash-rig.ts';
import { waitUntil } from './wait-until.ts';

export interface SentMessage {
  session: string;
  marker: string;
}

/** The text of a message of `sendMany`, which tells the model how long to take for its answer. */
function textOf({ marker }: SentMessage, answerMs: number): string {
  return `${marker} [[delay: ${answerMs}]] [[reply: Yes.]]`;
}

/** Messages for `sessions` sessions, `each` per session, in the order in which they are sent. */
export function planMessages(name: string, sessions: number, each: number): SentMessage[] {
  const plan: SentMessage[] = [];
  for (let round = 1; round <= each; round += 1) {
    for (let session = 1; session <= sessions; session += 1)
      plan.push({ session: `${name}-${session}`, marker: `${name}-${session}-m${round}.` });
  }
  return plan;
}

/** Sends them: sessions concurrently, the messages of one session one after the other's 202. */
export async function sendMany(rig: CrashRig, plan: readonly SentMessage[], answerMs: number): Promise<void> {
  const bySession = Map.groupBy(plan, ({ session }) => session);
  await Promise.all(
    [...bySession.values()].map(async (messages) => {
      for (const message of messages) await rig.client.send(message.session, textOf(message, answerMs));
    }),
  );
}

/** How many messages of these sessions are in each status. */
export async function countByStatus(rig: CrashRig, name: string): Promise<Record<string, number>> {
  const { rows } = await rig.database.query<{ status: string; n: number }>(
    `select status, count(*)::int as n from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id
     where s.key like $1 group by status`,
    [`agent:main:${name}-%`],
  );
  return Object.fromEntries(rows.map(({ status, n }) => [status, n]));
}

/** Waits until no message waits and returns what is wrong, one sentence each. */
export async function judgeMany(
  rig: CrashRig,
  name: string,
  plan: readonly SentMessage[],
  withinMs: number,
): Promise<string[]> {
  const counts = await waitUntil(`all of ${name} is settled`, withinMs, async () => {
    const now = await countByStatus(rig, name);
    return (now['waiting'] ?? 0) + (now['claimed'] ?? 0) === 0 && now;
  }).catch(() => countByStatus(rig, name));
  const faults: string[] = [];
  if (counts['answered'] !== plan.length) faults.push(`of ${plan.length} messages: ${JSON.stringify(counts)}`);
  const said = await readSaid(rig, name);
  for (const [session, messages] of Map.groupBy(plan, (message) => message.session)) {
    const expected = messages.map(({ marker }) => marker).join(' ');
    if (said.get(session) !== expected)
      faults.push(`${session} says "${said.get(session) ?? ''}" instead of "${expected}"`);
  }
  return faults;
}

/** The markers in the prompts of each session, in order. */
async function readSaid(rig: CrashRig, name: string): Promise<Map<string, string>> {
  const { rows } = await rig.database.query<{ session: string; text: string }>(
    `select s.key as session, string_agg(e.content::text, ' ' order by e.seq) as text
     from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
     where s.key like $1 and e.kind in ('prompt', 'steer') group by s.key`,
    [`agent:main:${name}-%`],
  );
  const marker = new RegExp(`${name}-\\d+-m\\d+\\.`, 'g');
  return new Map(rows.map((row) => [row.session.replace('agent:main:', ''), (row.text.match(marker) ?? []).join(' ')]));
}
