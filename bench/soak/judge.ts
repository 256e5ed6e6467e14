// What must be true of the rows, the effects and the webhooks when a soak is over and everything is
// settled.
import type { Check } from './checks.ts';
import { replyTo, type SentMessage, type SoakCron } from './load.ts';
import type { Stage } from './stage.ts';

/** No message, turn, delivery, subagent or tick ended badly. */
export async function judgeEnds(stage: Stage): Promise<Check> {
  const found = await stage.rows<{ what: string; n: number }>(
    `select 'messages ' || status || coalesce(' (' || (error->>'code') || ')', '') as what, count(*)::int as n
       from holdfast.inbox where status not in ('answered', 'silent') group by 1
     union all select 'turns ' || status || coalesce(' (' || (error->>'code') || ')', ''), count(*)::int from holdfast.turns
       where status not in ('completed', 'silent') group by 1
     union all select 'deliveries ' || status, count(*)::int from holdfast.deliveries where status <> 'sent' group by 1
     union all select 'subagents ' || status, count(*)::int from holdfast.subagent_runs where status <> 'ok' group by 1
     union all select 'ticks ' || status, count(*)::int from holdfast.cron_fires where status = 'failed' group by 1
     union all select 'dead letters ' || code, count(*)::int from holdfast.dead_letters group by 1`,
  );
  const [{ turns } = { turns: 0 }] = await stage.rows<{ turns: number }>(
    'select count(*)::int as turns from holdfast.turns',
  );
  return {
    what: 'nothing failed (of so many turns)',
    count: turns,
    faults: found.map(({ what, n }) => `${n} ${what}`),
  };
}

interface StoredMessage {
  id: string;
  session: string;
  marker: string;
}

/** Each accepted message is stored once, said once and in order, and had its effect once. */
export async function judgeMessages(stage: Stage, sent: readonly SentMessage[]): Promise<Check[]> {
  const stored = await stage.rows<StoredMessage>(
    `select i.id, replace(s.key, 'agent:main:', '') as session, split_part(i.body->>'text', '.', 1) as marker
     from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id where i.kind = 'message' and s.key like '%:soak-%'
     order by s.key, i.seq`,
  );
  const byMarker = Map.groupBy(stored, ({ marker }) => marker);
  const accepted = sent.filter(({ id }) => id !== null);
  return [
    {
      what: 'accepted messages are stored once',
      count: accepted.length,
      faults: sent.flatMap(({ marker, id }) => {
        const found = byMarker.get(marker) ?? [];
        if (id === null && found.length <= 1) return [];
        return found.length === 1 && found[0]?.id === id ? [] : [`${marker} is stored ${found.length} times`];
      }),
    },
    await judgeTranscripts(stage, stored),
    await judgeEffects(stage),
  ];
}

async function judgeTranscripts(stage: Stage, stored: readonly StoredMessage[]): Promise<Check> {
  const said = await stage.rows<{ session: string; text: string }>(
    `select replace(s.key, 'agent:main:', '') as session, string_agg(e.content::text, ' ' order by e.seq) as text
     from holdfast.entries e join holdfast.sessions s on s.id = e.session_id
     where s.key like '%:soak-%' and e.kind in ('prompt', 'steer') group by s.key`,
  );
  const texts = new Map(said.map(({ session, text }) => [session, text]));
  const faults = [...Map.groupBy(stored, ({ session }) => session)].flatMap(([session, messages]) => {
    const expected = messages.map(({ marker }) => marker).join(' ');
    const found = [...(texts.get(session) ?? '').matchAll(/\b(s\d+m\d+)\. \[\[tool/g)]
      .map((match) => match[1])
      .join(' ');
    return found === expected ? [] : [`${session} says ${found} instead of ${expected}`];
  });
  return { what: 'messages are in the transcripts once, in order', count: stored.length, faults };
}

/**
 * An effect whose call is done happened once; one whose outcome is unknown happened at most once;
 * no key happened twice.
 */
async function judgeEffects(stage: Stage): Promise<Check> {
  const calls = await stage.rows<{ call: string; status: string }>(
    `select turn_id || ' ' || call_id as call, status from holdfast.tool_calls where name = 'http_effect'`,
  );
  const { effects } = stage.effects;
  const byCall = Map.groupBy(effects, ({ turnId, callId }) => `${turnId} ${callId}`);
  const byKey = Map.groupBy(effects, ({ key }) => key);
  const faults = [
    ...calls.flatMap(({ call, status }) => {
      const times = byCall.get(call)?.length ?? 0;
      return times === 1 || (times === 0 && status !== 'done') ? [] : [`call ${call} (${status}) had ${times} effects`];
    }),
    ...[...byKey].flatMap(([key, all]) => (all.length === 1 ? [] : [`${key} happened ${all.length} times`])),
  ];
  return { what: 'effects happened once', count: calls.length, faults };
}

/**
 * Each reply reached the receiver under one webhook id. A repeat under the same id is what
 * receivers recognise it by.
 */
export async function judgeDeliveries(stage: Stage): Promise<Check[]> {
  const { received } = stage.receiver;
  const messages = await stage.rows<{ id: string; marker: string }>(
    `select i.id, split_part(i.body->>'text', '.', 1) as marker from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id
     where i.kind = 'message' and i.status = 'answered' and s.key like '%:soak-%'`,
  );
  const idsOf = new Map<string, Set<string>>();
  for (const { headers, body } of received) {
    for (const messageId of body.messageIds ?? []) {
      const ids = idsOf.get(messageId) ?? new Set();
      idsOf.set(messageId, ids.add(String(headers['webhook-id'])));
    }
  }
  const texts = new Set(received.map(({ body }) => body.text));
  const faults = messages.flatMap(({ id, marker }) => {
    const ids = idsOf.get(id)?.size ?? 0;
    if (ids !== 1) return [`the reply to ${marker} arrived under ${ids} webhook ids`];
    return texts.has(replyTo(marker)) ? [] : [`the reply to ${marker} has another text`];
  });
  const different = new Set(received.map(({ headers }) => headers['webhook-id'])).size;
  return [
    { what: 'replies are delivered once', count: messages.length, faults },
    { what: 'webhooks that were sent again, with the same id', count: received.length - different, faults: [] },
  ];
}

/** Each subagent was spawned once and announced once. */
export async function judgeSubagents(stage: Stage): Promise<Check[]> {
  const runs = await stage.rows<{ label: string; runs: number; announced: number }>(
    `select r.label, count(distinct r.id)::int as runs, count(i.id)::int as announced
     from holdfast.subagent_runs r left join holdfast.inbox i on i.cause_key = 'announce:' || r.id and i.session_id = r.parent_id
     group by r.label`,
  );
  const faults = runs
    .filter(({ runs: times, announced }) => times !== 1 || announced !== 1)
    .map((run) => `${run.label} was spawned ${run.runs} times and announced ${run.announced} times`);
  return [{ what: 'subagents are spawned and announced once', count: runs.length, faults }];
}

/** Every slot of a cron has one row, and every row that fired has one message. */
export async function judgeCrons(stage: Stage, crons: readonly SoakCron[]): Promise<Check> {
  const fires = await stage.rows<{ cron_id: string; at: Date; slots: number; message_id: string | null }>(
    `select cron_id, scheduled_for as at, slots::int as slots, message_id from holdfast.cron_fires order by cron_id, scheduled_for`,
  );
  const messageIds = fires.flatMap(({ message_id: id }) => (id === null ? [] : [id]));
  const faults = new Set(messageIds).size === messageIds.length ? [] : ['a message stands for two ticks'];
  for (const { id, firstSlotMs } of crons) {
    let nextMs = firstSlotMs;
    for (const { at, slots } of fires.filter(({ cron_id: cronId }) => cronId === id)) {
      if (at.getTime() !== nextMs)
        faults.push(`${id}: ${at.toISOString()} instead of ${new Date(nextMs).toISOString()}`);
      nextMs = at.getTime() + slots * 1_000;
    }
  }
  return { what: 'every tick has its row, once', count: fires.length, faults };
}
