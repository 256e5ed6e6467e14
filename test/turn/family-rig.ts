// A turn rig whose workers have the session tools: families of sessions on one database, whose
// turns run when a test says so.
import type { SessionId } from '../../src/core/ids.ts';
import type { Tool, ToolCall } from '../../src/tools/tool.ts';
import { createSessionTools } from '../../src/features/subagents/tools.ts';
import { endGathering } from '../rows/doorbells.ts';
import { readInputs } from '../rows/inputs.ts';
import { readSessions } from '../rows/sessions.ts';
import { readSubagentRuns } from '../rows/subagents.ts';
import { recordedService } from '../service/recorded-service.ts';
import { createTurnRig, type TurnRig } from './turn-rig.ts';

export type FamilyRig = Awaited<ReturnType<typeof createFamilyRig>>;

export type RunRow = Awaited<ReturnType<typeof readRuns>>[number];

/** All runs, in the order in which they were spawned. */
async function readRuns(rig: TurnRig) {
  const runs = await readSubagentRuns(rig);
  const keys = await readSessions(rig, { id: runs.map(({ childId }) => childId) }, 'id', 'key');
  return runs.map((run) => ({
    ...run,
    childId: run.childId as SessionId,
    childKey: keys.find(({ id }) => id === run.childId)!.key,
  }));
}

interface LastBody {
  system: unknown;
  tools: { name: string }[];
  messages: { content: string | { type: string; text?: string }[] }[];
}

// Each tool has fields of its own.
type ReadByModel = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any

/** Makes it; `settings` is the configuration file. */
export async function createFamilyRig(databaseUrl: string, settings: object = {}, tools: Tool[] = []) {
  const rig: TurnRig = await createTurnRig(databaseUrl, { settings });
  const { service, rings } = recordedService(rig);
  const own = createSessionTools(service);

  function worker() {
    return rig.worker({ tools: [...own, ...tools] });
  }

  /** Runs a session tool in a call; resolves with what the model reads. */
  async function call(name: string, from: ToolCall, input: object): Promise<ReadByModel> {
    const { content } = await own.find(({ spec }) => spec.name === name)!.run(input, from);
    // These tools answer with a text.
    return JSON.parse(content as string) as ReadByModel;
  }

  /** All runs, in the order in which they were spawned. */
  const runs = (): Promise<RunRow[]> => readRuns(rig);

  /** The runs that a session has spawned. */
  async function runsOf(name: string): Promise<RunRow[]> {
    const parentId = await rig.sessionOf(name);
    return (await runs()).filter((run) => run.parentId === parentId);
  }

  /** The announcements in the inbox of a session. */
  async function announcements(sessionId: SessionId): Promise<Record<string, unknown>[]> {
    return readInputs(
      rig,
      { sessionId, kind: 'announcement' },
      'id',
      'status',
      'disposition',
      'mode',
      'route',
      'causeKey',
      'turnId',
      'code',
      'announcement',
    );
  }

  /** Makes all waiting messages of a session due now, without gathering. */
  async function gathered(sessionId: SessionId): Promise<void> {
    await endGathering(rig, { sessionId });
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
  async function counts(sessionId: SessionId) {
    return (await readSessions(rig, { id: sessionId }))[0];
  }

  return {
    ...rig,
    service,
    rings,
    call,
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
