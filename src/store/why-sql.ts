// Why something waits, as docs/api.md describes it. It is computed when it is read: the reason is data of the turn, the time is that of its
// session's doorbell.
import { isoSql } from './session-facts.ts';

/** Why a message or a turn waits. Times are ISO 8601. */
export interface Why {
  code: string;
  /** For people. */
  text: string;
  since: string;
  /** When it is looked at again at the latest; null: not known. */
  until: string | null;
  /** What it waits for: the provider of a model. */
  by: string | null;
}

/** SQL of a `Why` as json: of the turn whose id the SQL `turnId` gives; null when that turn is not parked. */
export function whySql(turnId: string): string {
  return `(select json_build_object('code', parked.park_code, 'text', parked.park_text, 'since', ${isoSql('parked.park_since')},
      'until', ${isoSql('bell.due_at')}, 'by', parked.park_by)
    from holdfast.turns parked left join holdfast.doorbells bell on bell.session_id = parked.session_id
    where parked.id = ${turnId} and parked.status = 'parked')`;
}
