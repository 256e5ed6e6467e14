// Snapshots: system prompts and tool lists by the hash of their bytes.
import { literalQuery } from '../../database/literal-query.ts';

/** The contents are parsed; a hash that is not there is missing from the map. */
export const readSnapshots = literalQuery({
  name: 'snapshots',
  purpose: 'Read the contents of hashes.',
  text: 'select sha256, content from holdfast.snapshots where sha256 = any ($1)',
  values: (hashes: string[]) => [hashes],
  answer: (rows: { sha256: string; content: unknown }[]) => new Map(rows.map((row) => [row.sha256, row.content])),
});
