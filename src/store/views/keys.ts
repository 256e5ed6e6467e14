// API keys and the audit log, as the API shows them and checks requests against them.
import { join, raw, sql } from '../drizzle.ts';
import type { ApiKeyView, AuditView } from '../../contract/keys.ts';
import type { KeyRole } from '../../core/access/key-role.ts';
import { literal } from '../statement.ts';
import { isoSql } from '../session-facts.ts';
import { pageOf, type Page, type PageRequest, type ViewDatabase } from './page.ts';

/** A key that opens the API now. */
export interface ValidApiKey {
  id: string;
  name: string;
  role: KeyRole;
  sha256: string;
  /** Milliseconds since 1970; null: it never ends. */
  expiresAtMs: number | null;
  isUseNoted: boolean;
}

export const VALID_API_KEYS = literal({
  name: 'valid-api-keys',
  purpose: 'Read the keys that open the API now.',
  text: `select id, name, role, sha256, (extract(epoch from expires_at) * 1000)::float8 as "expiresAtMs",
  coalesce(last_used_at > clock_timestamp() - interval '1 minute', false) as "isUseNoted"
from holdfast.api_keys where revoked_at is null and (expires_at is null or expires_at > clock_timestamp())`,
});

/** The keys that open the API now. */
export async function readValidApiKeys(db: ViewDatabase): Promise<ValidApiKey[]> {
  return (await db.query<ValidApiKey>(VALID_API_KEYS.prepared([]))).rows;
}

/** A sign-in, found by its cookie. */
export interface WebSession {
  id: string;
  secretSha256: string;
  keySha256: string;
  expiresAt: Date;
}

export const READ_WEB_SESSIONS = literal({
  name: 'read-web-sessions',
  purpose: 'Read the sign-ins of cookies that have not ended.',
  text: `select id, secret_sha256 as "secretSha256", key_sha256 as "keySha256", expires_at as "expiresAt"
from holdfast.web_sessions where id = any($1::uuid[]) and expires_at > clock_timestamp()`,
});

/** Those of these sign-ins that exist and have not ended. */
export async function readWebSessions(db: ViewDatabase, ids: readonly string[]): Promise<WebSession[]> {
  return (await db.query<WebSession>(READ_WEB_SESSIONS.prepared([ids]))).rows;
}

const KEY_COLUMNS = raw(`k.id, k.name, k.role, k.created_by as "createdBy", ${isoSql('k.created_at')} as "createdAt",
  ${isoSql('k.expires_at')} as "expiresAt", ${isoSql('k.last_used_at')} as "lastUsedAt", ${isoSql('k.revoked_at')} as "revokedAt"`);
const AUDIT_COLUMNS = raw(
  `a.id, ${isoSql('a.at')} as at, a.principal, a.role, a.action, a.target, a.reason, a.request_id as "requestId", a.outcome`,
);

/** A key, or null. */
export async function viewApiKey(db: ViewDatabase, id: string): Promise<ApiKeyView | null> {
  const { rows } = await db.query<ApiKeyView>(
    sql`select ${KEY_COLUMNS} from holdfast.api_keys k where k.id = ${id}::uuid`,
  );
  return rows[0] ?? null;
}

/** Keys, newest first, also those that are revoked. */
export async function listApiKeys(db: ViewDatabase, page: PageRequest): Promise<Page<ApiKeyView>> {
  const { rows } = await db.query<ApiKeyView>(sql`
    select ${KEY_COLUMNS} from holdfast.api_keys k
    where (${page.after}::uuid is null or k.id < ${page.after}::uuid)
    order by k.id desc limit ${page.limit + 1}`);
  return pageOf(rows, page.limit, ({ id }) => id);
}

export interface AuditFilter {
  principal?: string | undefined;
  action?: string | undefined;
}

/** Changes, newest first. */
export async function listAudit(
  db: ViewDatabase,
  { principal, action }: AuditFilter,
  page: PageRequest,
): Promise<Page<AuditView>> {
  // Each condition is left out when it is not asked for, so that each plan uses its own index.
  const conditions = [
    ...(principal === undefined ? [] : [sql`a.principal = ${principal}`]),
    ...(action === undefined ? [] : [sql`a.action = ${action}`]),
    ...(page.after === null ? [] : [sql`a.id < ${page.after}::uuid`]),
  ];
  const where = conditions.length === 0 ? sql`` : sql`where ${join(conditions, ' and ')}`;
  const { rows } = await db.query<AuditView>(sql`
    select ${AUDIT_COLUMNS} from holdfast.audit a ${where} order by a.id desc limit ${page.limit + 1}`);
  return pageOf(rows, page.limit, ({ id }) => id);
}
