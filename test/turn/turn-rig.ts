// Builds what a turn needs around a real database and a scripted model server, without a queue:
// tests call `run` where a job would.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, type Clock } from '../../src/clock.ts';
import { loadConfig } from '../../src/config.ts';
import type { MessageId, SessionId, SessionKey } from '../../src/core/ids.ts';
import { chooseRoute, type InboundMessage } from '../../src/core/inbound.ts';
import { canonicalSessionKey, sessionKindOf } from '../../src/core/session-key.ts';
import { newId } from '../../src/ids.ts';
import { createLogger, type Logger } from '../../src/logger.ts';
import { createConfiguredModel } from '../../src/model/configured-model.ts';
import { withoutPlugins, type Plugins } from '../../src/plugins/plugins.ts';
import { startScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { BeforeEvent } from '../../scripted-model/stream-answer.ts';
import type { Committed } from '../../src/kernel/queue/after-commit.ts';
import { createPublish, createWake, type Wake } from '../../src/kernel/queue/rings.ts';
import { createAccept } from '../../src/kernel/inbox/accept-messages.ts';
import type { NewInput } from '../../src/kernel/inbox/new-input.ts';
import { FEATURES } from '../../src/features.ts';
import { budgetBookOf } from '../../src/features/budgets/rounds.ts';
import { openDatabase } from '../../src/database/database.ts';
import { dropOverflow } from '../../src/kernel/inbox/inbox.ts';
import { migrate } from '../../src/database/migrate.ts';
import { createEnsureSession } from '../../src/kernel/sessions/sessions.ts';
import type { Tool } from '../../src/tools/tool.ts';
import type { TurnFeature } from '../../src/kernel/turn/context.ts';
import { runTurn } from '../../src/kernel/turn/run/run-turn.ts';
import type { TurnOutcome } from '../../src/kernel/turn/run/steps.ts';
import { EFFECTS } from '../features.ts';
import { createTurnContext } from '../../workers/create-turn-context.ts';

export type TurnRig = Awaited<ReturnType<typeof createTurnRig>>;

/** Everything for turns on one database; `worker` makes a worker, any number of them. */
export async function createTurnRig(
  databaseUrl: string,
  options: {
    tools?: Tool[];
    leaseMs?: number;
    plugins?: Plugins;
    settings?: object;
    /** The context window of the scripted model. */
    windowTokens?: number;
    /** How long a message batch of the scripted model takes, in milliseconds. */
    batchDelayMs?: number;
    /**
     * The part of cached prompts that its message batches find in the cache, 0 to 1; absent: as
     * live calls do.
     */
    batchCacheHits?: number;
    /** Awaited before each event of a slow answer. */
    beforeEvent?: BeforeEvent;
    /** Absent: the machine's. */
    clock?: Clock;
    /** Where outages of the database are logged; absent: nowhere. */
    databaseLogger?: Logger;
  } = {},
) {
  const { clock = systemClock } = options;
  const dataDir = await mkdtemp(join(tmpdir(), 'holdfast-turn-'));
  if (options.settings !== undefined) await writeFile(join(dataDir, 'holdfast.json'), JSON.stringify(options.settings));
  const config = loadConfig({
    env: { HOLDFAST_DATA_DIR: dataDir, HOLDFAST_LEASE_MS: String(options.leaseMs ?? 15_000) },
    cwd: dataDir,
  });
  const logger = createLogger({ level: 'silent', format: 'json', name: 'test' });
  await migrate(databaseUrl);
  const database = openDatabase({
    url: databaseUrl,
    role: 'test',
    ...(options.databaseLogger === undefined ? {} : { logger: options.databaseLogger }),
  });
  const scripted = await startScriptedModel({
    host: '127.0.0.1',
    port: 0,
    ...(options.windowTokens === undefined ? {} : { contextTokens: options.windowTokens }),
    ...(options.batchDelayMs === undefined ? {} : { batchDelayMs: options.batchDelayMs }),
    ...(options.batchCacheHits === undefined ? {} : { batchCacheHits: options.batchCacheHits }),
    ...(options.beforeEvent === undefined ? {} : { beforeEvent: options.beforeEvent }),
  });
  const ensure = createEnsureSession(database);
  const accept = createAccept(database);
  const stops: (() => void)[] = [];
  let isClosed = false;

  /** The id of a session, which is created if necessary. */
  function sessionOf(name: string): Promise<SessionId> {
    const key: SessionKey = canonicalSessionKey(name);
    return ensure({
      key,
      candidateId: newId<SessionId>(),
      agentId: 'main',
      // Names without a prefix are the owner's.
      kind: sessionKindOf(key) === 'other' ? 'main' : sessionKindOf(key),
      lane: 'main',
      channel: 'api',
    });
  }

  /** Accepts a message, as the API would. */
  async function send(
    name: string,
    text: string,
    more: Partial<InboundMessage> = {},
    kind: NewInput['kind'] = 'message',
  ): Promise<MessageId> {
    const body: InboundMessage = { text, ...more };
    const messageId = newId<MessageId>();
    const sessionId = await sessionOf(name);
    const { queue } = config.messages;
    const acceptance = await accept({
      messageId,
      sessionId,
      kind,
      body: JSON.stringify(body),
      route: chooseRoute(body, []),
      mode: more.mode ?? null,
      ...(kind === 'message' ? { queue } : {}),
      platformKey: null,
      idempotency: null,
      waitingMax: 1000,
    });
    if (acceptance.kind !== 'accepted') throw new Error(`The message was not accepted: ${acceptance.kind}`);
    if (acceptance.isOverCap) await dropOverflow(database, { sessionId, ...queue });
    return messageId;
  }

  const budgets = budgetBookOf({ database });
  const turns = await Promise.all(FEATURES.flatMap((feature) => feature.turns?.() ?? []));

  /**
   * A worker that runs turns when it is called; with its own wake it behaves as if in another
   * process.
   */
  function worker(
    more: {
      isDraining?: () => boolean;
      tools?: Tool[];
      plugins?: Plugins;
      wake?: Wake;
      modelUrl?: string;
      /** False: no feature has a part in its turns. */
      hasFeatures?: boolean;
      /** More features that have a part in its turns. */
      features?: TurnFeature[];
      /** Absent: nothing is logged. */
      logger?: Logger;
    } = {},
  ) {
    const wake = more.wake ?? createWake();
    const publish = createPublish({ wake, doorbell: { ring: async () => undefined } });
    const plugins = more.plugins ?? options.plugins ?? withoutPlugins(logger);
    const context = createTurnContext({
      config,
      logger: more.logger ?? logger,
      clock,
      database,
      effects: EFFECTS,
      turns: more.hasFeatures === false ? [] : [...turns, ...(more.features ?? []).map((feature) => () => feature)],
      publish,
      model: createConfiguredModel({
        config,
        clock,
        logger,
        endpoint: { apiKey: 'test', baseUrl: more.modelUrl ?? scripted.url },
        transports: plugins.transports,
      }),
      tools: [...(more.tools ?? options.tools ?? []), ...plugins.tools],
      plugins,
      owner: newId<string>(),
      isDraining: more.isDraining ?? (() => false),
    });
    const stop = (): void => {
      context.store.locks.stop();
      for (const check of context.models.checks) check.stop?.();
    };
    stops.push(stop);
    context.store.locks.start();
    return {
      context,
      run: (name: string): Promise<Committed<TurnOutcome>> =>
        untilClosed(async () => publish(await runTurn(context, await sessionOf(name)))),
      runSession: (id: SessionId): Promise<Committed<TurnOutcome>> =>
        untilClosed(async () => publish(await runTurn(context, id))),
      stop,
    };
  }

  /**
   * Swallows the rejection of a turn that a failed test has left running when the rig closes,
   * because no caller awaits it.
   */
  async function untilClosed(run: () => Promise<Committed<TurnOutcome>>): Promise<Committed<TurnOutcome>> {
    try {
      return await run();
    } catch (error) {
      if (isClosed) return new Promise(() => undefined);
      throw error;
    }
  }

  /** Rows of a query, for asserting. */
  async function rows(sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
    return (await database.views.query(sql, values)).rows;
  }

  return {
    config,
    database,
    effects: EFFECTS,
    budgets,
    scripted,
    sessionOf,
    send,
    worker,
    rows,
    /** Closes all of it, also the workers of tests that failed before they stopped them. */
    async close() {
      isClosed = true;
      for (const stop of stops) stop();
      await scripted.close();
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
