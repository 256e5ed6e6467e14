// A score as every answer shows it: in the list of scores and with its turn.
import { isoSql } from '../sessions/session-facts.ts';

/** SQL of a score as JSON; `row` is its row, `key` the key of its session. */
export function scoreSql(row: string, key: string): string {
  return `json_build_object('id', ${row}.id, 'sessionKey', ${key}, 'turnId', ${row}.turn_id, 'messageId', ${row}.message_id,
    'score', ${row}.name, 'value', ${row}.value, 'note', ${row}.note, 'by', ${row}.author, 'source', ${row}.source,
    'createdAt', ${isoSql(`${row}.created_at`)}, 'updatedAt', ${isoSql(`${row}.updated_at`)})`;
}
