// The overrides of a session: what its queue, model and thinking are when they differ from the
// configuration, and its label.
import { literalQuery } from '../../database/literal-query.ts';

/** Absent: unchanged. Null: back to the configuration. */
export interface SessionPatch {
  queueMode?: string | null | undefined;
  queueDebounceMs?: number | null | undefined;
  queueCap?: number | null | undefined;
  queueDrop?: string | null | undefined;
  model?: string | null | undefined;
  thinking?: string | null | undefined;
  reasoning?: string | null | undefined;
  label?: string | null | undefined;
}

const COLUMNS: Record<keyof SessionPatch, string> = {
  queueMode: 'queue_mode',
  queueDebounceMs: 'queue_debounce_ms',
  queueCap: 'queue_cap',
  queueDrop: 'queue_drop',
  model: 'model',
  thinking: 'thinking',
  reasoning: 'reasoning',
  label: 'label',
};

const NUMBERS: ReadonlySet<string> = new Set<keyof SessionPatch>(['queueDebounceMs', 'queueCap']);

/** The assignments by which a patch, bound as JSON text to `placeholder`, changes a session `s`. */
export function patchSql(placeholder: string): string {
  const patch = `${placeholder}::jsonb`;
  return Object.entries(COLUMNS)
    .map(([field, column]) => {
      const value = `(${patch} ->> '${field}')${NUMBERS.has(field) ? '::int' : ''}`;
      return `${column} = case when ${patch} ? '${field}' then ${value} else s.${column} end`;
    })
    .join(', ');
}

export const patchSession = literalQuery({
  name: 'patch-session',
  purpose: 'Change overrides of a session. Answers a row when there is such a session.',
  locking: 'The session row.',
  pool: 'views',
  text: `update holdfast.sessions s set ${patchSql('$2')}, updated_at = clock_timestamp() where s.key = $1 returning 1`,
  values: (key: string, patch: SessionPatch) => [key, JSON.stringify(patch)],
  answer: (rows: object[]) => rows.length > 0,
});
