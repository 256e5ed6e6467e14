// Snapshots: system prompts and tool lists by the hash of their bytes.
import type { Database } from './database.ts';

/** The contents of the given hashes, parsed; a hash that is not there is missing from the map. */
export async function readSnapshots(database: Database, hashes: string[]): Promise<Map<string, unknown>> {
  const result = await database.hot.query({
    name: 'snapshots',
    text: '/* snapshots */ select sha256, content from holdfast.snapshots where sha256 = any ($1)',
    values: [hashes],
  });
  return new Map(result.rows.map((row) => [row.sha256, row.content]));
}
