// The audit log, as the API shows it.
import type { AuditView } from '../../contract/keys.ts';
import { and, desc, eq, lt, query } from '../../database/drizzle.ts';
import { cutPage, type Page, type PageRequest, type ViewDatabase } from '../../database/page.ts';
import { audit } from '../../rows/keys.ts';

/** Changes, newest first. */
export async function listAudit(
  db: ViewDatabase,
  { principal, action }: { principal?: string | undefined; action?: string | undefined },
  { after, limit }: PageRequest,
): Promise<Page<AuditView>> {
  // Each condition is left out when it is not asked for, so that each plan uses its own index.
  const fitting = and(
    principal === undefined ? undefined : eq(audit.principal, principal),
    action === undefined ? undefined : eq(audit.action, action),
    after === null ? undefined : lt(audit.id, after),
  );
  const extra = limit + 1;
  const changes = await query(db, (of) => of.select().from(audit).where(fitting).orderBy(desc(audit.id)).limit(extra));
  return cutPage(changes, limit, ({ id }) => id);
}
