// Clients that keep a service busy, one session each: every message asks for a tool loop, contains
// its own marker and is answered with it. A client sends a message until it is accepted, always
// with the same Idempotency-Key, and records how each request was answered. `judge` checks the end
// state.
import { setTimeout as delay } from 'node:timers/promises';
import { waitUntil } from '../../crash/rig/wait-until.ts';
import type { ServiceAnswer, ServiceApi } from './service-api.ts';
import type { ServiceRig } from './service-rig.ts';

export interface SentMessage {
  session: string;
  marker: string;
  /** True when the status was 2xx. */
  isAccepted: boolean;
  /** The answers other than 2xx, and the duration of each; status 0: the connection broke. */
  refusals: { status: number; ms: number; contentType: string | null; retryAfter: string | null }[];
}

export interface SteadyLoad {
  /** How many messages have been answered so far. */
  answered(): number;
  /** Lets every client finish its current message; resolves with all that was sent. */
  stop(): Promise<SentMessage[]>;
}

export interface LoadOptions {
  name: string;
  sessions: number;
  /** The text that follows the marker: what the model is to do. */
  script: (marker: string, session: number) => string;
  /** More fields of each message. */
  fields?: Record<string, unknown>;
  /** How long a client pauses after each message. */
  pauseMs: number;
}

/** Between two attempts of a refused request. */
const retryMs = 50;
/** The `Prefer: wait` of a client. */
const waitSeconds = 10;

/** The reply that a message with this marker gets. */
export function replyTo(marker: string): string {
  return `Done with ${marker}`;
}

/** A loop of two steps with three effects, two of them in parallel. */
export function toolLoop(marker: string): string {
  const call = (tool: string, key: string): string => `[[tool: ${tool} {"key": "${marker}:${key}"}]]`;
  return [
    '[[delay: 20 each]]',
    call('http_effect', 'a'),
    `${call('http_effect', 'b')} & ${call('http_effect_idempotent', 'c')}`,
    `[[reply: ${replyTo(marker)}]]`,
  ].join(' ');
}

/** Starts the clients. */
export function startLoad(apis: ServiceApi[], options: LoadOptions): SteadyLoad {
  let isOver = false;
  let answered = 0;
  const all: SentMessage[] = [];
  const client = async (number: number): Promise<void> => {
    for (let n = 1; !isOver; n += 1) {
      const message: SentMessage = {
        session: `${options.name}-${number}`,
        marker: `${options.name}-${number}-m${n}`,
        isAccepted: false,
        refusals: [],
      };
      all.push(message);
      const api = apis[(number + n) % apis.length] as ServiceApi;
      const answer = await sendUntilAccepted(api, message, options, number, () => isOver);
      if (answer?.status === 200) answered += 1;
      await delay(options.pauseMs);
    }
  };
  const clients = Array.from({ length: options.sessions }, (_, index) => client(index + 1));
  return {
    answered: () => answered,
    async stop() {
      isOver = true;
      await Promise.all(clients);
      return all;
    },
  };
}

async function sendUntilAccepted(
  api: ServiceApi,
  message: SentMessage,
  { script, fields }: LoadOptions,
  session: number,
  isOver: () => boolean,
): Promise<ServiceAnswer | null> {
  const body = { text: `${message.marker}. ${script(message.marker, session)}`, mode: 'followup', ...fields };
  const headers = { 'idempotency-key': message.marker, prefer: `wait=${waitSeconds}` };
  while (!message.isAccepted) {
    const begin = performance.now();
    const answer = await api.ask('POST', `/v1/sessions/${message.session}/messages`, body, headers).catch(() => null);
    message.isAccepted = answer !== null && answer.status < 300;
    if (message.isAccepted) return answer;
    message.refusals.push({
      status: answer?.status ?? 0,
      ms: performance.now() - begin,
      contentType: answer?.headers.get('content-type') ?? null,
      retryAfter: answer?.headers.get('retry-after') ?? null,
    });
    if (isOver()) return null;
    await delay(retryMs);
  }
  return null;
}

/** Waits until no message is in flight. Rejects with what still is, when that takes too long. */
export async function untilQuiet(rig: ServiceRig, name: string, withinMs: number): Promise<void> {
  const readOpen = (): Promise<{ n: number; what: string }[]> =>
    rig.rows(
      `select 'inbox ' || i.status as what, count(*)::int as n from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id
       where s.key like $1 and i.status in ('waiting', 'claimed') group by i.status
       union all select 'delivery ' || d.status, count(*)::int from holdfast.deliveries d join holdfast.sessions s on s.id = d.session_id
       where s.key like $1 and d.status in ('pending', 'sending') group by d.status`,
      [`agent:main:${name}-%`],
    );
  await waitUntil('everything is settled', withinMs, async () => (await readOpen()).length === 0).catch(
    async (error) => {
      throw new Error(`still: ${JSON.stringify(await readOpen())}`, { cause: error });
    },
  );
}

/**
 * Returns what is wrong once all work is done, one sentence each. Effects of the idempotent tool
 * may be repeated after a crash.
 */
export async function judge(rig: ServiceRig, name: string, sent: SentMessage[]): Promise<string[]> {
  const rows = await rig.rows<{
    session: string;
    marker: string;
    status: string;
    reply: string | null;
    error: unknown;
  }>(
    `select replace(s.key, 'agent:main:', '') as session, split_part(i.body->>'text', '.', 1) as marker, i.status, t.reply, i.error
     from holdfast.inbox i join holdfast.sessions s on s.id = i.session_id left join holdfast.turns t on t.id = i.turn_id
     where s.key like $1 order by s.key, i.seq`,
    [`agent:main:${name}-%`],
  );
  const stored = Map.groupBy(rows, ({ marker }) => marker);
  const faults = sent.flatMap(({ marker, isAccepted }) => {
    const count = stored.get(marker)?.length ?? 0;
    if (count === 1 || (count === 0 && !isAccepted)) return [];
    return [`${marker} is stored ${count} times`];
  });
  for (const { marker, status, reply, error } of rows) {
    if (status !== 'answered' || reply !== replyTo(marker))
      faults.push(`${marker} ended ${status} with "${reply}" ${JSON.stringify(error)}`);
  }
  return [
    ...faults,
    ...(await judgeTranscripts(rig, name, rows)),
    ...(await judgeRows(rig, name)),
    ...judgeEffects(rig, rows),
  ];
}

/**
 * Each input is in the transcript once, in the order of the inbox, and so are each session's
 * replies.
 */
async function judgeTranscripts(
  rig: ServiceRig,
  name: string,
  stored: { session: string; marker: string }[],
): Promise<string[]> {
  const said = await rig.rows<{ session: string; prompts: string[]; answers: string[] }>(
    `select replace(s.key, 'agent:main:', '') as session,
       array_agg(e.content::text order by e.seq) filter (where e.kind = 'prompt') as prompts,
       array_agg(e.content::text order by e.seq) filter (where e.kind = 'answer' and e.content::text like '%Done with%') as answers
     from holdfast.entries e join holdfast.sessions s on s.id = e.session_id where s.key like $1 group by s.key`,
    [`agent:main:${name}-%`],
  );
  return said.flatMap(({ session, prompts, answers }) => {
    const markers = stored.filter((row) => row.session === session).map(({ marker }) => marker);
    const inPrompts = prompts.map((prompt) => new RegExp(`(${session}-m\\d+)\\. `).exec(prompt)?.[1]);
    const inAnswers = (answers ?? []).map((answer) => new RegExp(`Done with (${session}-m\\d+)"`).exec(answer)?.[1]);
    const faults: string[] = [];
    if (inPrompts.join() !== markers.join()) faults.push(`${session} hears ${inPrompts.join()} for ${markers.join()}`);
    if (inAnswers.join() !== markers.join()) faults.push(`${session} says ${inAnswers.join()} for ${markers.join()}`);
    return faults;
  });
}

async function judgeRows(rig: ServiceRig, name: string): Promise<string[]> {
  const found = await rig.rows<{ what: string; n: number }>(
    `with own as (select * from holdfast.sessions where key like $1)
     select 'sessions that are not idle' as what, count(*)::int as n from own
       where owner is not null or turn_id is not null or waiting <> 0
     union all select 'doorbells', count(*)::int from holdfast.doorbells d join own on own.id = d.session_id
     union all select 'turns ' || t.status, count(*)::int from holdfast.turns t join own on own.id = t.session_id
       where t.status <> 'completed' group by t.status
     union all select 'open intents', count(*)::int from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id
       join own on own.id = t.session_id where c.status = 'intent'
     union all select 'dead letters', count(*)::int from holdfast.dead_letters d join own on own.id = d.session_id
     union all select 'deliveries ' || d.status, count(*)::int from holdfast.deliveries d join own on own.id = d.session_id
       where d.status <> 'sent' group by d.status`,
    [`agent:main:${name}-%`],
  );
  return found.filter(({ n }) => n > 0).map(({ what, n }) => `${n} ${what}`);
}

function judgeEffects(rig: ServiceRig, stored: { marker: string }[]): string[] {
  const happened = Map.groupBy(rig.effects.effects, ({ key }) => key);
  return stored.flatMap(({ marker }) =>
    ['a', 'b'].flatMap((letter) => {
      const count = happened.get(`${marker}:${letter}`)?.length ?? 0;
      return count > 1 ? [`effect ${marker}:${letter} happened ${count} times`] : [];
    }),
  );
}
