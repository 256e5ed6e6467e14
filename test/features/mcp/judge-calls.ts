// Compares the ledger with what counting servers have really run: no call twice, and none whose
// fate is hidden.
import { readToolCalls } from '../../rows/calls.ts';
import type { Store } from '../../rows/table.ts';

/** What is wrong, one sentence each. `runs`: the keys as often as the servers have run them. */
export async function judgeCalls(
  store: Store,
  runs: readonly string[],
): Promise<{ statuses: Record<string, number>; faults: string[] }> {
  const counts = Map.groupBy(runs, (key) => key);
  const rows = await readToolCalls(store, {}, 'turnId', 'callId', 'name', 'status', 'isIdempotent');
  const calls = rows.filter(({ name }) => /__(?:add|put)$/.test(name));
  const faults = calls.flatMap(({ turnId, callId, name, status, isIdempotent }) => {
    const key = `${turnId}:${callId}`;
    const times = counts.get(key)?.length ?? 0;
    const said = `${name} ${key} is ${status} and was run ${times} times`;
    const isTrue =
      times <= 1 &&
      (status !== 'done' || times === 1) &&
      // Its result says that nothing was done; a call that may run twice can fail after all its
      // tries.
      (status !== 'failed' || isIdempotent || times === 0) &&
      ['done', 'failed', 'unknown'].includes(status);
    return isTrue ? [] : [said];
  });
  const known = new Set(calls.map(({ turnId, callId }) => `${turnId}:${callId}`));
  const foreign = [...counts.keys()].filter((key) => !known.has(key) && /^[^ ]+$/.test(key));
  const statuses = Object.fromEntries(
    [...Map.groupBy(calls, ({ status }) => status)].map(([status, some]) => [status, some.length]),
  );
  return { statuses, faults: [...faults, ...foreign.map((key) => `${key} was run and is in no ledger`)] };
}
