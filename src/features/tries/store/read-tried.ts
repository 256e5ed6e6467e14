// What a try needs of the turn that it repeats.
import type { Entry } from '../../../core/entry.ts';
import type { ThinkingLevel } from '../../../core/models.ts';
import type { SessionKey } from '../../../core/ids.ts';
import { literalQuery } from '../../../database/literal-query.ts';

/** A turn to be tried; its inputs are those that are left of it, in order. */
export interface TriedTurn {
  sessionKey: SessionKey;
  sessionKind: string;
  channel: string | null;
  kind: string;
  model: string;
  provider: string | null;
  thinking: ThinkingLevel | null;
  hasEnded: boolean;
  hasPrompt: boolean;
  bodies: unknown[];
}

export const readTriedTurn = literalQuery({
  name: 'read-tried-turn',
  purpose: 'Read a turn with the bodies of its inputs, to ask them again.',
  pool: 'views',
  text: `select s.key as "sessionKey", s.kind as "sessionKind", s.channel, t.kind, coalesce(t.asked_model, t.model) as model,
  t.view ->> 'provider' as provider, t.thinking, t.ended_at is not null as "hasEnded", exists (
    select from holdfast.entries e where e.session_id = s.id and e.seq = t.prompt_seq and e.turn_id = t.id and e.kind = 'prompt') as "hasPrompt",
  coalesce((select json_agg(i.body order by i.seq) from holdfast.inbox i where i.turn_id = t.id), '[]') as bodies
from holdfast.turns t join holdfast.sessions s on s.id = t.session_id where t.id = $1`,
  values: (turnId: string) => [turnId],
  answer: ([turn]: TriedTurn[]) => turn ?? null,
});

export const readTriedEntries = literalQuery({
  name: 'read-tried-entries',
  purpose: 'Read the entries of a turn, hidden ones too, for the results of its tool calls.',
  pool: 'views',
  text: `select e.content from holdfast.turns t
join holdfast.entries e on e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id
where t.id = $1 order by e.seq`,
  values: (turnId: string) => [turnId],
  answer: (entries: Pick<Entry, 'content'>[]) => entries,
});

/** Before all tries. */
export const NO_TRY = '00000000-0000-0000-0000-000000000000';

const TRIES_MAX = 20;

export const findOldTries = literalQuery({
  name: 'find-old-tries',
  purpose: 'Read some tries that have not changed for some days ($1), after one ($2).',
  pool: 'views',
  text: `select s.id, s.key from holdfast.sessions s
where s.kind = 'try' and s.updated_at < clock_timestamp() - make_interval(days => $1) and s.id > $2::uuid order by s.id limit ${TRIES_MAX}`,
  values: (days: number, afterId: string) => [days, afterId],
  answer: (rows: { id: string; key: string }[]) => rows,
});
