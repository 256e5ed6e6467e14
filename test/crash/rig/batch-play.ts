// A batch of items with two tool calls each, processed live or by way of provider batches. Of every
// eight items, two share a session.
import type { ScheduledRig } from './scheduled-rig.ts';
import type { ScheduledPlay } from './scheduled-sweep.ts';
import { waitUntil } from './wait-until.ts';

const settledWithinMs = 240_000;

/** One batch of the play. */
export interface BatchScene {
  name: string;
  batchId: string;
}

/** The play for this rig. `items` must be a multiple of 8. */
export function batchPlay(
  rig: Pick<ScheduledRig, 'ask' | 'rows' | 'effects' | 'model'>,
  via: 'live' | 'provider-batch',
  { items: itemCount = 8, withinMs = settledWithinMs }: { items?: number; withinMs?: number } = {},
): ScheduledPlay<BatchScene> {
  let scenes = 0;

  async function begin(): Promise<BatchScene> {
    const name = `${via}-scene-${(scenes += 1)}`;
    const items = Array.from({ length: itemCount }, (_, at) => {
      const tools = ['a', 'b'].map((key) => `[[tool: http_effect {"key": "${name}-${at + 1}-${key}"}]]`).join(' ');
      // What a turn starts counts for its batch, too.
      const task = `[[tool: http_effect {"key": "${name}-below"}]] [[reply: below]]`;
      const spawn = at === 0 && via === 'live' ? `[[tool: sessions_spawn ${JSON.stringify({ task })}]]` : '';
      const shared = at % 4 === 3 ? { sessionKey: `${name}-shared-${Math.floor(at / 8)}` } : {};
      return { text: `${name} ${tools} ${spawn} [[reply: done ${at + 1}]]`, customId: `row-${at + 1}`, ...shared };
    });
    // All turns of a hop go into one provider batch.
    const concurrency = via === 'live' ? 5 : itemCount;
    // The cap is never reached; each call reserves its cost under it.
    const body = { name, items, via, concurrency, maxCostUsd: 1_000 };
    const { id } = await rig.ask<{ id: string }>('POST', '/v1/batches', body);
    return { name, batchId: id };
  }

  /**
   * Waits until the batch has ended, every worker has left its sessions, and no call that it lost
   * has a reservation.
   */
  async function settle({ name, batchId }: BatchScene): Promise<void> {
    await waitUntil(`${name} has ended`, withinMs, async () => {
      const [row] = await rig.rows<{ status: string; open: number }>(
        `select b.status, (select count(*)::int from holdfast.sessions where turn_id is not null)
           + (select count(*)::int from holdfast.cost_reservations r where r.budget_id = b.id) as open
         from holdfast.batches b where b.id = $1`,
        [batchId],
      );
      return row?.status === 'ended' && row.open === 0;
    });
  }

  async function judge({ name, batchId }: BatchScene): Promise<string[]> {
    const faults: string[] = [];
    const rows = await rig.rows<Record<string, unknown>>(
      `select i.n, i.custom_id, i.status, i.attempt, t.reply, t.status as turn,
         (select count(*)::int from holdfast.inbox x where x.cause_key like 'batch:' || i.batch_id || ':' || i.n || ':%') as inputs,
         (select count(*)::int from holdfast.entries e where e.kind = 'prompt' and e.turn_id = i.turn_id) as prompts
       from holdfast.batch_items i left join holdfast.turns t on t.id = i.turn_id where i.batch_id = $1 order by i.n`,
      [batchId],
    );
    for (const [at, row] of rows.entries()) {
      const n = at + 1;
      const expected = {
        n,
        custom_id: `row-${n}`,
        status: 'answered',
        attempt: 1,
        reply: `done ${n}`,
        turn: 'completed',
      };
      const wanted = JSON.stringify({ ...expected, inputs: 1, prompts: 1 });
      if (JSON.stringify(row) !== wanted) faults.push(`item ${n} is ${JSON.stringify(row)} instead of ${wanted}`);
    }
    if (rows.length !== itemCount) faults.push(`there are ${rows.length} items`);
    const [batch] = await rig.rows<Record<string, unknown>>(
      `select b.status, b.outcome, b.answered, b.in_flight, b.output_tokens = (select sum(output_tokens) from holdfast.batch_items
         where batch_id = b.id) as is_sum from holdfast.batches b where b.id = $1`,
      [batchId],
    );
    const whole = { status: 'ended', outcome: 'completed', answered: itemCount, in_flight: 0, is_sum: true };
    if (JSON.stringify(batch) !== JSON.stringify(whole)) faults.push(`the batch is ${JSON.stringify(batch)}`);
    faults.push(...(await judgeBudget(batchId)));
    const keys = rig.effects.effects.map(({ key }) => key).filter((key) => key.startsWith(`${name}-`));
    const twice = keys.filter((key, at) => keys.indexOf(key) !== at);
    if (twice.length > 0) faults.push(`effects that happened twice: ${twice.join(', ')}`);
    if (via === 'provider-batch') faults.push(...(await judgeRequests(batchId)));
    return faults;
  }

  /**
   * Returns what is wrong with the cap of a batch. A worker that wakes late can still reserve the
   * cost of a call that it then does not make: the next round of a scheduler releases it.
   */
  async function judgeBudget(batchId: string): Promise<string[]> {
    const read = async (): Promise<string> => {
      const [cap] = await rig.rows<Record<string, unknown>>(
        `select w.spent_micros = b.cost_micros as is_spent, w.reserved_micros::int as reserved
         from holdfast.batches b join holdfast.budget_windows w on w.budget_id = b.id where b.id = $1`,
        [batchId],
      );
      return JSON.stringify(cap);
    };
    const settled = JSON.stringify({ is_spent: true, reserved: 0 });
    try {
      await waitUntil('its budget is settled', withinMs, async () => (await read()) === settled);
      return [];
    } catch (error) {
      return [`${(error as Error).message}: ${await read()}`];
    }
  }

  /** Returns what is wrong with the requests of a batch and with the provider batches. */
  async function judgeRequests(batchId: string): Promise<string[]> {
    const uneven = await rig.rows<{ turn_id: string; n: number }>(
      `select r.turn_id, count(*)::int as n from holdfast.provider_requests r where r.batch_id = $1 and r.status = 'answered'
       group by r.turn_id having count(*) <> 3`,
      [batchId],
    );
    const known = await rig.rows<{ id: string }>(
      'select provider_id as id from holdfast.provider_batches where provider_id is not null',
    );
    const made = rig.model.batches.records.map(({ id }) => id);
    return [
      ...uneven.map(({ turn_id: turnId, n }) => `the turn ${turnId} has ${n} answers in place of 3`),
      ...made
        .filter((id) => !known.some((row) => row.id === id))
        .map((id) => `the batch ${id} of the provider is not known`),
    ];
  }

  return via === 'live'
    ? { name: 'a batch', shortFrom: 1, begin, settle, judge }
    : { name: 'a batch of the provider', shortFrom: 5, begin, settle, judge };
}
