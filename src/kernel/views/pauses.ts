// Pauses, what they hold and how they are shown; and the models that no worker calls for a time.
import type { PauseView } from '../../contract/pauses.ts';
import type { Lane } from '../../config.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { viewQuery } from '../../database/literal-query.ts';
import type { BlockView } from '../../contract/model-blocks.ts';

/** The scope of a pause; null matches any. */
export interface PauseScope {
  lane: Lane | null;
  agent: string | null;
  session: string | null;
}

/** The most pauses at a time; an operator has a few. */
export const PAUSES_MAX = 1_000;

/** SQL of the pause `p` as a `PauseView` in JSON. */
export const PAUSE_JSON = `json_build_object('id', p.id, 'lane', p.lane, 'agent', p.agent_id, 'session', p.session_key, 'reason', p.reason,
  'pausedBy', p.paused_by, 'since', ${isoSql('p.created_at')})`;

export const listPauses = viewQuery({
  name: 'list-pauses',
  purpose: 'Read the pauses, oldest first.',
  text: `select ${PAUSE_JSON} as pause from holdfast.pauses p order by p.created_at, p.id`,
  answer: (rows: { pause: PauseView }[]) => rows.map((row) => row.pause),
});

// The models that no worker calls for a time, as people see them.

/** SQL of the block `b` as a `BlockView` in JSON. */
export const BLOCK_JSON = `json_build_object('model', b.model, 'kind', case when b.probe_at is null then 'asked' else 'away' end,
  'since', ${isoSql('b.since')}, 'until', ${isoSql('coalesce(b.probe_at, b.until)')},
  'text', b.detail)`;

export const listBlocks = viewQuery({
  name: 'list-model-blocks',
  purpose: 'Read the blocks that last, by model.',
  text: `select ${BLOCK_JSON} as block from holdfast.model_blocks b where b.until > clock_timestamp() and b.lifted_at is null order by b.model, b.account`,
  answer: (rows: { block: BlockView }[]) => rows.map(({ block }) => block),
});
