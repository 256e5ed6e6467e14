// What must hold when all work of a service is over, whichever processes did it: each message was
// answered once, each slot fired once, and nothing is left.
import type { Message } from './service-api.ts';
import type { ServiceRig } from './service-rig.ts';

/** What is neither over nor a poll of the next seconds. */
export async function readOpen(rig: ServiceRig): Promise<string[]> {
  const found = await rig.rows<{ what: string; n: number }>(
    `select 'unsettled inputs' as what, count(*)::int as n from holdfast.inbox where settled_at is null
     union all select 'open turns', count(*)::int from holdfast.turns where ended_at is null
     union all select 'doorbells', count(*)::int from holdfast.doorbells
     union all select 'calls without a result', count(*)::int from holdfast.tool_calls where status = 'intent'
     union all select 'open requests', count(*)::int from holdfast.approvals where status = 'open'
     union all select 'effects', count(*)::int from holdfast.effects
     union all select 'reservations', count(*)::int from holdfast.cost_reservations
     union all select 'running subagents', count(*)::int from holdfast.subagent_runs where status = 'running'
     union all select 'sessions that are not idle', count(*)::int from holdfast.sessions
       where owner is not null or turn_id is not null or waiting <> 0 or live_children <> 0`,
  );
  return found.filter(({ n }) => n > 0).map(({ what, n }) => `${n} ${what}`);
}

/**
 * Every message was answered as it asked, and was said once; those of the backlog in their order.
 */
export async function judgeSent(
  rig: ServiceRig,
  sent: readonly [string, { message: Message; reply: string }][],
): Promise<string[]> {
  const rows = await rig.rows<{ id: string; status: string; reply: string | null }>(
    'select i.id, i.status, t.reply from holdfast.inbox i left join holdfast.turns t on t.id = i.turn_id',
  );
  const said = await rig.rows<{ text: string }>(
    `select content::text as text from holdfast.entries where kind in ('prompt', 'steer') order by session_id, seq`,
  );
  const text = said.map((row) => row.text).join('\n');
  const backlog = sent.filter(([name]) => name.startsWith('backlog-')).map(([name]) => text.indexOf(`${name}: `));
  const faults = sent.flatMap(([name, { message, reply }]) => {
    const row = rows.find(({ id }) => id === message.id);
    const times = text.split(`${name}: `).length - 1;
    return [
      ...(row?.status === 'answered' && row.reply === reply ? [] : [`${name} is ${JSON.stringify(row)}`]),
      ...(times === 1 ? [] : [`${name} is said ${times} times`]),
    ];
  });
  const isOrdered = backlog.every((at, index) => index === 0 || at > backlog[index - 1]!);
  return [...faults, ...(isOrdered ? [] : [`the backlog is out of order: ${backlog.join(', ')}`])];
}

/** Each slot has one fire, whichever version scheduled it. */
export async function judgeTicks(rig: ServiceRig, everyMs: number): Promise<string[]> {
  const ticks = await rig.rows<{ at: Date; status: string; messages: number }>(
    `select f.scheduled_for as at, f.status, (select count(*)::int from holdfast.inbox i where i.id = f.message_id and i.status = 'answered') as messages
     from holdfast.cron_fires f order by f.scheduled_for`,
  );
  return ticks.flatMap(({ at, status, messages }, n) => {
    const before = ticks[n - 1]?.at.getTime();
    return [
      ...(status === 'completed' && messages === 1
        ? []
        : [`the slot ${at.toISOString()} is ${status} with ${messages} messages`]),
      ...(before === undefined || at.getTime() - before === everyMs
        ? []
        : [`the slot before ${at.toISOString()} is missing`]),
    ];
  });
}

/** What holds for all inputs, turns and calls. */
export async function judgeOnce(rig: ServiceRig): Promise<string[]> {
  const found = await rig.rows<{ what: string; n: number }>(
    `select 'inputs that are ' || status as what, count(*)::int as n from holdfast.inbox where status not in ('answered', 'silent') group by status
     union all select 'inputs without one event of their end', count(*)::int from holdfast.inbox i
       where (select count(*) from holdfast.events e where e.session_id = i.session_id and e.type = 'message.settled'
         and e.data ->> 'messageId' = i.id::text) <> 1
     union all select 'turns that are ' || status, count(*)::int from holdfast.turns where status not in ('completed', 'silent') group by status
     union all select 'dead letters', count(*)::int from holdfast.dead_letters
     union all select 'subagents that ended ' || status, count(*)::int from holdfast.subagent_runs where status <> 'ok' group by status
     union all select 'subagents that are not announced once', count(*)::int from holdfast.subagent_runs r
       where (select count(*) from holdfast.inbox i where i.cause_key = 'announce:' || r.id) <> 1
     union all select 'polls without one input', count(*)::int from holdfast.heartbeats h
       where h.message_id is not null and (select count(*) from holdfast.inbox i where i.id = h.message_id) <> 1
     union all select 'polls that are not over', count(*)::int from holdfast.heartbeats h
       where h.status = 'claimed' and h.created_at < clock_timestamp() - interval '2 minutes'
     union all select 'tables whose costs differ', count(*)::int from (select sum(cost_micros) from holdfast.model_calls
       except select sum(cost_micros) from holdfast.turns) as costs`,
  );
  return found.filter(({ n }) => n > 0).map(({ what, n }) => `${n} ${what}`);
}
