// A turn rig whose workers have the session tools: families of sessions on one database, whose turns run when a test says so.
import type { SessionId } from '../../src/core/ids.ts';
import type { Tool } from '../../src/tools/tool.ts';
import { createSessionTools } from '../../src/tools/session-tools.ts';
import { createSessionsPort } from '../../workers/sessions-port.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

export type FamilyRig = Awaited<ReturnType<typeof createFamilyRig>>;

export interface RunRow {
  id: string;
  child_id: SessionId;
  child_key: string;
  parent_id: SessionId;
  root_id: SessionId;
  depth: number;
  label: string | null;
  status: string;
  result: string | null;
  error: string | null;
  announcement_id: string | null;
  announced_to: string | null;
}

interface LastBody {
  system: unknown;
  tools: { name: string }[];
  messages: { content: string | { type: string; text?: string }[] }[];
}

/** Makes it; `settings` is the configuration file. */
export async function createFamilyRig(databaseUrl: string, settings: object = {}, tools: Tool[] = []) {
  const rig: TurnRig = await createTurnRig(databaseUrl, { settings });
  const { service, rings } = recordedService(rig);
  const port = createSessionsPort(service);

  function worker() {
    return rig.worker({ tools: [...createSessionTools(port), ...tools] });
  }

  /** All runs, in the order in which they were spawned. */
  async function runs(): Promise<RunRow[]> {
    const sql = `select r.*, c.key as child_key from holdfast.subagent_runs r join holdfast.sessions c on c.id = r.child_id
      order by r.created_at, r.id`;
    return (await rig.rows(sql)) as unknown as RunRow[];
  }

  /** The runs that a session has spawned. */
  async function runsOf(name: string): Promise<RunRow[]> {
    const parentId = await rig.sessionOf(name);
    return (await runs()).filter((run) => run.parent_id === parentId);
  }

  /** The announcements in the inbox of a session. */
  async function announcements(sessionId: SessionId): Promise<Record<string, unknown>[]> {
    return rig.rows(
      `select id, status, disposition, mode, route, cause_key, turn_id, error ->> 'code' as code, body -> 'announcement' as announcement
       from holdfast.inbox where session_id = $1 and kind = 'announcement' order by seq`,
      [sessionId],
    );
  }

  /** Makes all waiting messages of a session due now, without gathering. */
  async function gathered(sessionId: SessionId): Promise<void> {
    await rig.rows('update holdfast.doorbells set gather_until = now(), due_at = now() where session_id = $1', [
      sessionId,
    ]);
  }

  /** The body of the last model request of a session. */
  function lastBody(key: string): LastBody {
    const request = rig.scripted.requests.findLast(({ headers }) => headers['x-holdfast-session'] === key);
    if (request === undefined) throw new Error(`${key} has asked no model`);
    return request.body as LastBody;
  }

  /** The messages of the last model request of a session, as text. */
  function lastRequest(key: string): string {
    return JSON.stringify(lastBody(key).messages);
  }

  /** The text of the last message of the last request. */
  function lastPrompt(key: string): string {
    const last = lastBody(key).messages.at(-1)?.content ?? '';
    return typeof last === 'string' ? last : last.map(({ text = '' }) => text).join('\n');
  }

  /** The counts of its family in the session's row. */
  async function counts(sessionId: SessionId): Promise<Record<string, unknown> | undefined> {
    const sql =
      'select waiting, live_children, live_descendants, run_id, owner, turn_id from holdfast.sessions where id = $1';
    return (await rig.rows(sql, [sessionId]))[0];
  }

  return {
    ...rig,
    port,
    rings,
    worker,
    runs,
    runsOf,
    announcements,
    gathered,
    lastBody,
    lastRequest,
    lastPrompt,
    counts,
  };
}

/** A directive that spawns a subagent with this task. */
export function spawnCall(task: string, more: object = {}): string {
  return `[[tool: sessions_spawn ${JSON.stringify({ task, ...more })}]]`;
}
