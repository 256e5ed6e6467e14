// What a turn answers: what it starts takes over where the answer goes, what its costs count for, and its options.
import type { Exchange } from '../../core/exchange.ts';
import type { InputOptions } from '../../core/input-options.ts';
import { chargeOfTurnSql } from './charged-inputs.ts';
import type { Database } from '../../database/database.ts';
import { literalQuery } from '../../database/literal-query.ts';

/** The origin of a turn: where its answer is sent, and the exchange that it is part of. */
export interface TurnOrigin {
  /** `deliver` absent: the default of the configuration; null: nowhere. */
  origin: Exchange['origin'];
  exchange: Exchange | null;
  /** What its costs count for (charged-inputs.ts). */
  chargedTo: object;
  /** What it starts takes these over. */
  options: InputOptions;
}

export const readTurnOrigin = literalQuery({
  name: 'turn-origin',
  purpose:
    'Read of the newest input of a turn where its answer is sent, the exchange that it is part of, and its options; null: it has none.',
  pool: 'views',
  text: `select i.body -> 'exchange' as exchange, coalesce(i.body -> 'options', '{}') as options,
  case when i.body -> 'deliver' is null then json_build_object('route', i.route)
    else json_build_object('route', i.route, 'deliver', i.body -> 'deliver') end as origin, ${chargeOfTurnSql('$1')} as "chargedTo"
from holdfast.inbox i where i.turn_id = $1 order by i.seq desc limit 1`,
  values: (turnId: string) => [turnId],
  answer: ([origin]: TurnOrigin[]) => origin ?? null,
});

/** The options of a turn. */
export async function readTurnOptions(database: Database, turnId: string): Promise<InputOptions> {
  return (await readTurnOrigin(database, turnId))?.options ?? {};
}
