// Runs a turn and loses its worker at one of its statements.
import { canonicalSessionKey } from '../../src/core/session-key.ts';
import { changeSessions } from '../rows/sessions.ts';
import { ago } from '../rows/table.ts';
import type { TurnRig } from './turn-rig.ts';

const STATEMENTS = ['claim', 'openTurn', 'commitStep', 'parkTurn', 'finishTurn'] as const;

/**
 * Loses the worker at its nth statement, before or after it was carried out; false: it has sent
 * fewer.
 */
export async function runAndLose(
  rig: TurnRig,
  name: string,
  at: number,
  isAfter: boolean,
  options: Parameters<TurnRig['worker']>[0] = {},
): Promise<boolean> {
  const worker = rig.worker(options);
  const { promise: lost, resolve: lose } = Promise.withResolvers<'lost'>();
  let sent = 0;
  const { store } = worker.context;
  for (const statement of STATEMENTS) {
    const send = store[statement] as (row: unknown) => Promise<unknown>;
    const losing = async (row: unknown): Promise<unknown> => {
      sent += 1;
      if (sent !== at) return await send(row);
      if (isAfter) await send(row);
      lose('lost');
      return await new Promise(() => undefined);
    };
    Object.assign(store, { [statement]: losing });
  }
  const end = await Promise.race([worker.run(name), lost]);
  worker.stop();
  await changeSessions(rig, { key: canonicalSessionKey(name) }, { leaseExpiresAt: ago('1 second') });
  return end === 'lost';
}
