// Deletes the copies of files whose deliveries need them no more. A copy has the id of its
// delivery, which is also that of the first part. Nothing else deletes one that was sent, so a
// crash at any point leaves at most a file that the next round deletes.
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isUuid } from '../../core/ids.ts';
import { outgoingFolder } from '../../files/copies.ts';
import type { Service } from '../../kernel/use-cases/service.ts';
import { literalQuery } from '../../database/literal-query.ts';

/**
 * A file without a delivery is older than that: a younger one may be of a call that is about to
 * store its delivery.
 */
const STRAY_MS_MIN = 60 * 60_000;

/** The copies of this machine. */
export async function trimCopies({ config, database }: Pick<Service, 'config' | 'database'>): Promise<void> {
  const folder = outgoingFolder(config.runtime.dataDir);
  const entries = await readdir(folder, { withFileTypes: true }).catch(noneYet);
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  if (names.length === 0) return;
  const states = await readCopyStates(database, names.filter(isUuid));
  for (const name of names) {
    const path = join(folder, name);
    if (states.get(name) ?? !(await isStray(path))) continue;
    await rm(path, { force: true });
  }
}

async function isStray(path: string): Promise<boolean> {
  const facts = await stat(path).catch(() => null);
  return facts !== null && facts.mtimeMs < Date.now() - STRAY_MS_MIN;
}

/** Without a file there is no folder. */
function noneYet(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}

/** A delivery that was not sent can be sent again with its file for so long. */
const REDRIVABLE_FOR = '7 days';
/**
 * The receiver of a webhook has so long to read the file, after it has acknowledged the delivery.
 */
const READABLE_FOR = '1 hour';

export const readCopyStates = literalQuery({
  name: 'read-copy-states',
  purpose: 'Read which deliveries ($ids) exist, and whether they still need their files.',
  pool: 'views',
  text: `select d.id, exists (
  select from holdfast.deliveries part
  where part.session_id = d.session_id and part.seq = d.seq and part.payload -> 'media' is not null and (
    part.status in ('pending', 'sending')
    or (part.status in ('failed', 'expired', 'unknown') and part.settled_at > clock_timestamp() - interval '${REDRIVABLE_FOR}')
    or (part.channel = 'webhook' and part.settled_at > clock_timestamp() - interval '${READABLE_FOR}'))
) as "isNeeded"
from holdfast.deliveries d where d.id = any ($ids::uuid[])`,
  values: (ids: readonly string[]) => ({ ids }),
  answer: (rows: { id: string; isNeeded: boolean }[]) => new Map(rows.map(({ id, isNeeded }) => [id, isNeeded])),
});
