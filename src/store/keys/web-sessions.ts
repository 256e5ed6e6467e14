// Sign-ins of browsers: the sessions that their cookies name, and the codes for one sign-in each.
import type { Database } from '../database.ts';
import { keyedPart, keyValues, type KeyedRequest } from '../idempotency.ts';
import { sendQuery } from '../send-query.ts';
import { literal } from '../statement.ts';

/** A session to be stored. */
export interface NewWebSession {
  id: string;
  secretSha256: string;
  /** How long it lasts. */
  lastsMs: number;
}

const TRIMMED_SQL = `trimmed as (
  delete from holdfast.web_sessions where id in (
    select id from holdfast.web_sessions where expires_at <= clock_timestamp() order by expires_at limit 100 for update skip locked)
)`;

export const OPEN_WEB_SESSION = literal({
  name: 'open-web-session',
  purpose: 'Store a sign-in with a key, and delete some that have ended.',
  locking: 'The ended sessions that it deletes.',
  text: `with ${TRIMMED_SQL}
insert into holdfast.web_sessions (id, secret_sha256, expires_at, key_sha256)
values ($1::uuid, $2::text, clock_timestamp() + $3::float8 * interval '1 millisecond', $4::text)
on conflict (id) do nothing`,
});

/** Signs a browser in with a key. Safe to send again. */
export async function openWebSession(database: Database, session: NewWebSession, keySha256: string): Promise<void> {
  const { id, secretSha256, lastsMs } = session;
  await sendQuery(database.views, OPEN_WEB_SESSION.prepared([id, secretSha256, lastsMs, keySha256]));
}

export const USE_SIGN_IN_CODE = literal({
  name: 'use-sign-in-code',
  purpose:
    'Delete a code that is still valid. Answers the key that it stands for; no row: it was used, has expired, or there is none.',
  locking: 'The row of the code.',
  text: `delete from holdfast.sign_in_codes where sha256 = $1
returning key_sha256 as "keySha256", expires_at > clock_timestamp() as "isValid"`,
});

/** Uses a code up; the SHA-256 of its key, or null. */
export async function takeSignInCode(database: Database, sha256: string): Promise<string | null> {
  // Not sent again after a fault: the code may have been used by the first attempt.
  const { rows } = await database.views.query<{ keySha256: string; isValid: boolean }>(
    USE_SIGN_IN_CODE.prepared([sha256]),
  );
  return rows[0]?.isValid === true ? rows[0].keySha256 : null;
}

export const CREATE_SIGN_IN_CODE = literal({
  name: 'create-sign-in-code',
  purpose: 'Store a code for one sign-in, and delete those that have expired. Answers when it expires.',
  locking: 'The expired codes.',
  text: `with trimmed as (
  delete from holdfast.sign_in_codes where expires_at <= clock_timestamp()
),
made as (
  insert into holdfast.sign_in_codes (sha256, key_sha256, expires_at)
  values ($1::text, $2::text, clock_timestamp() + $3::float8 * interval '1 millisecond')
  returning expires_at
),
${keyedPart(4, `select json_build_object('expiresAt', expires_at) from made`)}
select expires_at as "expiresAt" from made`,
});

/** Stores a code that is valid for `lastsMs`; resolves with when it expires. */
export async function createSignInCode(
  database: Database,
  code: { sha256: string; keySha256: string; lastsMs: number },
  idempotency: KeyedRequest | null,
): Promise<Date> {
  const values = [code.sha256, code.keySha256, code.lastsMs, ...keyValues(idempotency)];
  const { rows } = await database.views.query<{ expiresAt: Date }>(CREATE_SIGN_IN_CODE.prepared(values));
  // An insert without a conflict clause returns its row.
  return rows[0]!.expiresAt;
}

export const END_WEB_SESSIONS = literal({
  name: 'end-web-sessions',
  purpose: 'Sign out: one session, or all of a key.',
  locking: 'The rows of the sessions.',
  text: 'delete from holdfast.web_sessions where id = $1::uuid or key_sha256 = $2::text returning 1',
});

/** Ends a session, or every session of a key; resolves with how many have ended. Safe to send again. */
export async function endWebSessions(database: Database, of: { id: string } | { keySha256: string }): Promise<number> {
  const values = 'id' in of ? [of.id, null] : [null, of.keySha256];
  return (await sendQuery(database.views, END_WEB_SESSIONS.prepared(values))).length;
}
