// The audit log: the changes that people and programs make through the API.
import type { Database } from '../database.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** Who is about to change what. */
export interface AuditedChange {
  principal: string;
  role: string;
  /** The name of the operation. */
  action: string;
  target: string;
  reason: string | null;
  requestId: string;
}

export const BEGIN_AUDIT = literal({
  name: 'begin-audit',
  purpose: 'Write down who is about to change what.',
  text: `insert into holdfast.audit (id, principal, role, action, target, reason, request_id)
values ($1::uuid, $2, $3, $4, $5, $6, $7) on conflict (id) do nothing`,
});

/** Writes a change down, before it is made. Safe to send again. */
export async function beginAudit(database: Database, id: string, change: AuditedChange): Promise<void> {
  const { principal, role, action, target, reason, requestId } = change;
  await sendQuery(database.views, BEGIN_AUDIT.prepared([id, principal, role, action, target, reason, requestId]));
}

export const END_AUDIT = literal({
  name: 'end-audit',
  purpose: 'Write down how a change ended, and the id of what it made.',
  locking: 'The row.',
  text: `update holdfast.audit set outcome = $2, target = target || $3 where id = $1 and outcome is null`,
});

/** Stores the result of a change. `made`: the id of the created object. Safe to send again. */
export async function endAudit(
  database: Database,
  id: string,
  { outcome, made }: { outcome: string; made: string | null },
): Promise<void> {
  await sendQuery(database.views, END_AUDIT.prepared([id, outcome, made === null ? '' : `/${made}`]));
}
