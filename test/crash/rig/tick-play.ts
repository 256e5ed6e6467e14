// A tick, a reminder and a poll that become due together.
import type { ScheduledRig } from './scheduled-rig.ts';
import type { ScheduledPlay } from './scheduled-sweep.ts';
import { waitUntil } from './wait-until.ts';

const settledWithinMs = 240_000;

interface Scene {
  name: string;
  tickId: string;
  reminderId: string;
  pollAt: Date;
}

/** The play for this rig. */
export function tickPlay(rig: ScheduledRig): ScheduledPlay<Scene> {
  let scenes = 0;

  /** Makes a tick, a reminder and a poll become due. */
  async function begin(): Promise<Scene> {
    const name = `scene-${(scenes += 1)}`;
    const schedule = { kind: 'at', at: new Date(Date.now() + 100).toISOString() };
    const tick = await rig.ask<{ id: string }>('POST', '/v1/crons', {
      name,
      schedule,
      payload: { kind: 'agentTurn', message: `${name}-tick [[reply: Yes.]]` },
    });
    const reminder = await rig.ask<{ id: string }>('POST', '/v1/crons', {
      name,
      schedule,
      target: `session:${name}`,
      payload: { kind: 'systemEvent', text: `${name}-event` },
    });
    const [state] = await rig.rows<{ next_at: Date }>(
      `update holdfast.heartbeat_states set next_at = date_trunc('milliseconds', clock_timestamp()) returning next_at`,
    );
    return { name, tickId: tick.id, reminderId: reminder.id, pollAt: state!.next_at };
  }

  /** Waits until all three are over. */
  async function settle({ name, tickId, reminderId, pollAt }: Scene): Promise<void> {
    await waitUntil(`${name} is over`, settledWithinMs, async () => {
      const [row] = await rig.rows<Record<string, string>>(
        `select (select count(*) from holdfast.cron_fires where cron_id in ($1, $2) and status = 'completed') as fires,
           (select count(*) from holdfast.heartbeats where scheduled_for = $3 and result is not null) as polls,
           (select count(*) from holdfast.inbox where settled_at is null) as open`,
        [tickId, reminderId, pollAt],
      );
      return row?.['fires'] === '2' && row['polls'] === '1' && row['open'] === '0';
    }).catch(async (error: unknown) => {
      const found = await rig.rows(
        `select f.status as fire, i.status as input from holdfast.cron_fires f left join holdfast.inbox i on i.id = f.message_id where f.cron_id in ($1, $2)
         union all select h.status, h.reason from holdfast.heartbeats h where h.scheduled_for = $3`,
        [tickId, reminderId, pollAt],
      );
      throw new Error(`${(error as Error).message}: ${JSON.stringify(found)}`);
    });
  }

  async function judge({ name, tickId, reminderId, pollAt }: Scene): Promise<string[]> {
    const [found] = await rig.rows<Record<string, string | null>>(
      `select (select count(*) from holdfast.cron_fires where cron_id in ($1, $2)) as fires,
         (select count(*) from holdfast.inbox where cause_key like 'cron:' || $1 || '%' or cause_key like 'cron:' || $2 || '%') as inputs,
         (select count(*) from holdfast.entries where kind = 'prompt' and content::text like '%' || $3 || '-tick%') as ticks,
         (select count(*) from holdfast.entries where kind = 'prompt' and content::text like '%' || $3 || '-event%') as events,
         (select count(*) from holdfast.system_events where text = $3 || '-event' and state = 'consumed') as consumed,
         (select count(*) from holdfast.heartbeats where scheduled_for = $4) as polls,
         (select string_agg(h.result, ',') from holdfast.heartbeats h where h.scheduled_for = $4) as result,
         (select count(distinct t.id) from holdfast.turns t join holdfast.inbox i on i.turn_id = t.id
           join holdfast.heartbeats h on h.message_id = i.id where h.scheduled_for = $4) as poll_turns,
         (select string_agg(distinct e.state || ' ' || e.kind, ',') from holdfast.entries e join holdfast.inbox i on i.turn_id = e.turn_id
           join holdfast.heartbeats h on h.message_id = i.id where h.scheduled_for = $4 and e.state <> 'pruned') as kept,
         (select count(*) from holdfast.sessions where turn_id is not null or waiting <> 0 or leaf_seq is not null and key = 'agent:main:main') as busy`,
      [tickId, reminderId, name, pollAt],
    );
    const expected: Record<string, string | null> = {
      fires: '2',
      inputs: '2',
      ticks: '1',
      events: '1',
      consumed: '1',
      polls: '1',
      result: 'acknowledged',
      poll_turns: '1',
      kept: null,
      busy: '0',
    };
    return Object.entries(expected)
      .filter(([fact, value]) => found?.[fact] !== value)
      .map(([fact, value]) => `${fact} is ${found?.[fact]} instead of ${value}`);
  }

  return { name: 'a tick and a poll', shortFrom: 0, begin, settle, judge };
}
