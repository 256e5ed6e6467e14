// Snapshots: system prompts and tool lists by the hash of their bytes.
import type { Database } from '../../database/database.ts';
import { literal } from '../../database/statement.ts';

export const SNAPSHOTS = literal({
  name: 'snapshots',
  purpose: 'Read the contents of hashes.',
  text: 'select sha256, content from holdfast.snapshots where sha256 = any ($1)',
});

/** The contents of the given hashes, parsed; a hash that is not there is missing from the map. */
export async function readSnapshots(database: Database, hashes: string[]): Promise<Map<string, unknown>> {
  const result = await database.hot.query(SNAPSHOTS.prepared([hashes]));
  return new Map(result.rows.map((row) => [row.sha256, row.content]));
}
