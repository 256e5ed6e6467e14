// Which sessions a pause holds. No ring is sent for them, and no worker claims them.

/** SQL that is true when the pause `p` holds the session `s`. */
export const holdsSql = (pause: string, session: string): string =>
  `(${pause}.lane is null or ${pause}.lane = ${session}.lane) and (${pause}.agent_id is null or ${pause}.agent_id = ${session}.agent_id)
      and (${pause}.session_key is null or ${pause}.session_key = ${session}.key)`;

/** SQL that is true when a pause holds the session `s`. */
export function isPausedSql(session: string): string {
  return `exists (select from holdfast.pauses p where ${holdsSql('p', session)})`;
}
