// How late the deletion of old rows is, by its settings.
import type { ClientBase } from 'pg';
import { literal } from '../statement.ts';
import { RETENTION_KINDS, type RetentionSettings } from './retention-kinds.ts';

export interface RetentionLag {
  kind: string;
  setting: keyof RetentionSettings;
  /** The milliseconds by which the deletion of rows may be late. */
  lagMs: number;
}

export const RETENTION_LAG = literal({
  name: 'retention-lag',
  purpose: 'Read for each kind of old rows how long ago the next pass should have been complete.',
  text: `select r.kind, greatest(extract(epoch from clock_timestamp() - coalesce(r.completed_to + r.keep_ms * interval '1 millisecond', r.created_at)) * 1000, 0)::float8 as "lagMs"
from holdfast.retention r`,
});

/** The kinds that have been deleted at any time. */
export async function readRetentionLag(client: ClientBase): Promise<RetentionLag[]> {
  const { rows } = await client.query<{ kind: string; lagMs: number }>(RETENTION_LAG.prepared([]));
  return rows.flatMap(({ kind, lagMs }) => {
    const known = RETENTION_KINDS.find((each) => each.kind === kind);
    return known === undefined ? [] : [{ kind, setting: known.setting, lagMs }];
  });
}
