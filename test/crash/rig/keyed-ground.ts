// What the requests of keyed-scenarios.ts need: the service that they are sent to, and existing
// rows.
import { randomUUID } from 'node:crypto';
import { canonicalSessionKey } from '../../../src/core/session-key.ts';
import { addDeliveries } from '../../rows/deliveries.ts';
import { readSessions } from '../../rows/sessions.ts';
import { now } from '../../rows/table.ts';

export interface KeyedAnswer {
  status: number;
  isReplay: boolean;
  // Answers of every route.
  body: any; // oxlint-disable-line typescript/no-explicit-any
}

/** The service that a scenario runs against. */
export interface Ground {
  post(path: string, body: object, key?: string): Promise<KeyedAnswer>;
  rows(sql: string, values?: unknown[]): Promise<Record<string, unknown>[]>;
  /** The owner of what the key of `post` makes; absent: it sees everything. */
  owner?: string;
}

/** A request and the rows that it needs. */
export interface KeyedRequest {
  path: string;
  body: object;
  /** Of its first answer. */
  status: number;
  /** Done between the effect and a retry: it makes a second effect visible. */
  meanwhile?: () => Promise<unknown>;
  /** How often the effect has happened. */
  effects: () => Promise<number>;
}

export interface KeyedScenario {
  /** The field of the first answer that a retry does not return, because it is not stored. */
  secret?: string;
  name: string;
  /** As in the route table. */
  route: string;
  prepare: (ground: Ground, session: string) => Promise<KeyedRequest>;
}

/** A name of what has no colons in its name, for a session. */
export const nameOf = (session: string): string => session.replaceAll(':', '-');

export async function count(ground: Ground, from: string, values: unknown[]): Promise<number> {
  const [row] = await ground.rows(`select count(*)::int as n from ${from}`, values);
  return Number(row?.['n']);
}

export async function sessionIdOf(ground: Ground, session: string): Promise<string> {
  await ground.post(`/v1/sessions/${session}/messages`, { text: 'one' });
  const [row] = await readSessions(ground, { key: canonicalSessionKey(session) }, 'id');
  return row!.id;
}

/** A row that the request changes once; `meanwhile` changes it back, like a later request. */
export function changeOnce(ground: Ground, change: { back: string; isChanged: string; id: unknown }) {
  let changedBack = 0;
  return {
    async meanwhile() {
      await ground.rows(change.back, [change.id]);
      changedBack = 1;
    },
    effects: async () => changedBack + (await count(ground, change.isChanged, [change.id])),
  };
}

export async function insertTurn(ground: Ground, sessionId: unknown, status: 'running' | 'failed'): Promise<string> {
  const id = randomUUID();
  await ground.rows(
    `insert into holdfast.turns (id, session_id, kind, lane, status, epoch, worker, model, prompt_seq, system_sha256, tools_sha256,
       queued_at, claimed_at, ended_at)
     values ($1, $2, 'message', 'main', $3, 1, 'w', 'm', 1, '', '', now(), now(), case when $3 = 'failed' then now() end)`,
    [id, sessionId, status],
  );
  return id;
}

export async function insertDelivery(ground: Ground, session: string): Promise<string> {
  const id = randomUUID();
  await addDeliveries(ground, { id, sessionId: await sessionIdOf(ground, session), status: 'failed', expiresAt: now });
  return id;
}

export async function spawn(ground: Ground, session: string): Promise<string> {
  const { body } = await ground.post(`/v1/sessions/${session}/spawn`, { task: 'x' });
  return body.runId;
}

/** A command that stops the session; messages that are accepted after it must keep waiting. */
export async function stop(ground: Ground, session: string) {
  await ground.post(`/v1/sessions/${session}/messages`, { text: 'one' });
  return {
    meanwhile: () => ground.post(`/v1/sessions/${session}/messages`, { text: 'two' }),
    effects: () =>
      count(
        ground,
        `holdfast.inbox i join holdfast.sessions s on s.id = i.session_id where s.key = $1 and i.status = 'cancelled'`,
        [canonicalSessionKey(session)],
      ),
  };
}
