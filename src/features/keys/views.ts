// API keys, as the API shows them and checks requests against them.
import type { ApiKeyView } from '../../contract/keys.ts';
import { callerOfKey } from '../../core/key-role.ts';
import { rootOfKey } from '../../core/scope.ts';
import { fromNow, now } from '../../rows/columns.ts';
import { apiKeys, webSessions } from '../../rows/keys.ts';
import { and, gt, inArray, isNull, or, query, sql } from '../../database/drizzle.ts';
import { viewQuery } from '../../database/literal-query.ts';
import { listOf } from '../../database/list-of.ts';
import type { ViewDatabase } from '../../database/page.ts';
import { isoSql } from '../../kernel/sessions/session-facts.ts';

/** The keys that open the API now. */
export function readValidApiKeys(db: ViewDatabase) {
  const { id, name, role, sha256, owner, expiresAt, agents, sessions, requestsPerMinute, messagesInFlight } = apiKeys;
  const limits = { requestsPerMinute, messagesInFlight };
  const isUseNoted = sql<boolean>`coalesce(${apiKeys.lastUsedAt} > ${fromNow(-60_000)}, false)`;
  const isValid = and(isNull(apiKeys.revokedAt), or(isNull(expiresAt), gt(expiresAt, now)));
  return query(db, (of) =>
    of
      .select({ id, name, role, sha256, owner, expiresAt, agents, sessions, limits, isUseNoted })
      .from(apiKeys)
      .where(isValid),
  );
}

/** The listed sign-ins that exist and have not ended. */
export function readWebSessions(
  db: ViewDatabase,
  ids: readonly string[],
): Promise<(typeof webSessions.$inferSelect)[]> {
  const those = and(inArray(webSessions.id, [...ids]), gt(webSessions.expiresAt, now));
  return query(db, (of) => of.select().from(webSessions).where(those));
}

export const areListsComplete = viewQuery({
  name: 'are-lists-complete',
  purpose: 'Whether older rows have the prefixes of a scope.',
  text: `select not exists (select from holdfast.scopes c where c.step is not null and c.prefix = any ($1::text[])) as "isDone"`,
  values: (scope: readonly string[]) => [scope],
  answer: ([row]: { isDone: boolean }[]) => row?.isDone === true,
});

/** Keys, also those that are revoked. */
export const keys = listOf<object, ApiKeyView>({
  name: 'list-api-keys',
  purpose: 'Read keys, newest first.',
  text: `select k.id, k.name, k.role, k.created_by as "createdBy", ${isoSql('k.created_at')} as "createdAt", ${isoSql('k.expires_at')} as "expiresAt",
  ${isoSql('k.last_used_at')} as "lastUsedAt", ${isoSql('k.revoked_at')} as "revokedAt", k.replaces, k.agents, k.sessions,
  json_build_object('requestsPerMinute', k.requests_per_minute, 'messagesInFlight', k.messages_in_flight) as limits,
  not exists (select from holdfast.scopes c where c.step is not null and c.prefix = any (array_append(
    coalesce((select array_agg(left(one, -1)) from unnest(k.sessions) as one where k.agents is null or split_part(one, ':', 2) = any (k.agents)),
      (select array_agg('agent:' || one || ':') from unnest(k.agents) as one)),
    coalesce(k.owner, '${callerOfKey('')}' || k.name) || '${rootOfKey('')}'))) as "listsComplete"
from holdfast.api_keys k`,
  filters: {},
  order: 'k.id desc',
});
