// Runs a cron now, enabled or not; its schedule does not change.
import type { MessageId, SystemEventId } from '../../core/ids.ts';
import { toSessionKey } from '../../core/schedule/cron.ts';
import { newId } from '../../ids.ts';
import { toTickInput } from '../../schedule/tick-input.ts';
import { readDatabaseTime } from './store/crons.ts';
import type { KeyedRequest } from '../../database/idempotency.ts';
import { readLastUrl } from '../../kernel/inbox/last-url.ts';
import { runCron, type ManualRunResult } from './store/run-cron.ts';
import { buildNewSession } from '../../kernel/sessions/sessions.ts';
import { findNamedCron, type NamedCron } from './edit-cron.ts';
import type { Service } from '../../kernel/use-cases/service.ts';

/** Runs it; the same cause runs it once. An agent can run any cron of its own. */
export async function runCronNow(
  service: Service,
  named: NamedCron,
  { causeKey, idempotency }: { causeKey: string; idempotency: KeyedRequest | null },
): Promise<ManualRunResult> {
  const { database, config, inbox, publish } = service;
  const cron = await findNamedCron(service, named);
  if (cron === null) return { kind: 'unknown' };
  const sessionId = await inbox.ensureSession(buildNewSession(toSessionKey(cron)));
  // An isolated session receives no messages: the session that last received one for the agent counts.
  const lastKey = toSessionKey(cron.target === 'isolated' ? { ...cron, target: 'main' } : cron);
  const lastUrl =
    cron.delivery?.mode === 'last'
      ? await readLastUrl(database, await inbox.ensureSession(buildNewSession(lastKey)))
      : null;
  const nowMs = await readDatabaseTime(database);
  const { kind, body, route, event } = toTickInput(cron, { config, nowMs, eventId: newId<SystemEventId>(), lastUrl });
  return publish(
    await runCron(database, {
      cronId: cron.id,
      sessionId,
      input: kind === null ? null : { messageId: newId<MessageId>(), kind, body: JSON.stringify(body), route },
      event,
      causeKey: `cron:${cron.id}:run:${causeKey}`,
      waitingMax: config.limits.waitingPerSession,
      idempotency,
    }),
  );
}
