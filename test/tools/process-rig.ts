// A session with an open turn on a real database, and keepers of background commands for it: any
// number, each its own worker.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '../../src/ids.ts';
import { createLogger } from '../../src/logger.ts';
import { createProcessStore } from '../../src/kernel/turn/journal/processes.ts';
import { createExecTool } from '../../src/tools/exec-tool.ts';
import { ProcessKeeper } from '../../src/tools/process-keeper.ts';
import { createProcessTool } from '../../src/tools/process-tool.ts';
import type { ToolCall, ToolOutcome } from '../../src/tools/tool.ts';
import { readSessions } from '../rows/sessions.ts';
import { createStoreRig } from '../store/store-rig.ts';
import { SUITE_SANDBOX } from './suite-sandbox.ts';
import { aToolCall } from './tool-call.ts';
import { createWorkspace } from './workspace.ts';

export type ProcessRig = Awaited<ReturnType<typeof createProcessRig>>;

/** A session and its open turn. */
interface OpenTurn {
  sessionKey: string;
  sessionId: string;
  turnId: string;
  epoch: number;
}

export async function createProcessRig() {
  const rig = await createStoreRig();
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-processes-'));
  const workspace = await createWorkspace();
  const store = createProcessStore(rig.database);
  const keepers: ProcessKeeper[] = [];

  async function rows<Row>(sql: string, values: unknown[] = []): Promise<Row[]> {
    return (await rig.database.views.query(sql, values)).rows as Row[];
  }

  /** A session whose turn is open. */
  async function session(): Promise<OpenTurn> {
    const sessionId = await rig.session();
    await rig.accept(rig.input(sessionId));
    const { turnId, taken } = await rig.opened(sessionId);
    const [row] = await readSessions(rig, { id: sessionId }, 'key');
    return { sessionKey: row?.key ?? '', sessionId, turnId, epoch: taken.session.epoch };
  }

  /** A worker that keeps commands; unless an option says otherwise, it does not crash by itself. */
  function worker({ leaseMs = 15_000, timeoutSeconds = 60 } = {}) {
    const name = newId<string>();
    const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
    const { outages } = rig.database;
    const keeper = new ProcessKeeper({ store, dataDir, worker: name, leaseMs, runMsMax: 60_000, logger, outages });
    keeper.start();
    keepers.push(keeper);
    const exec = createExecTool({
      timeoutSeconds: 60,
      environment: { PATH: process.env['PATH'] },
      sandbox: SUITE_SANDBOX,
      background: { keeper, dataDir, timeoutSeconds },
    });
    return { keeper, name, exec, process: createProcessTool({ store, keeper, dataDir }) };
  }

  /** A call in the session, with its own idempotency key. */
  function call(of: Omit<OpenTurn, 'sessionId'>, more: Partial<ToolCall> = {}): ToolCall {
    const { sessionKey, turnId, epoch } = of;
    const lease = { epoch, assertHeld: () => undefined };
    return aToolCall({ workspaceDir: workspace.dir, sessionKey, turnId, lease, ...more });
  }

  return {
    ...rig,
    dataDir,
    workspace,
    store,
    rows,
    session,
    worker,
    call,
    async close() {
      await Promise.all(keepers.map((keeper) => keeper.stop()));
      await rig.drop();
      await workspace.remove();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** The id in an outcome of exec. */
export function idOf({ content }: ToolOutcome): string {
  const [id] = /[0-9a-f]{8}-[0-9a-f-]{27}/.exec(JSON.stringify(content)) ?? [];
  if (id === undefined) throw new Error(`No process is named in ${JSON.stringify(content)}.`);
  return id;
}
