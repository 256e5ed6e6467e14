// What a turn did, step by step, from its journal: the model calls with their tokens and the tool calls with their ends. Payloads are in the transcript;
// one tool call is shown with what it was given and what came back.
import type { ToolCallView } from '../../contract/tool-calls.ts';
import type { ModelCallView, StepView, TurnView } from '../../contract/views.ts';
import type { ToolCallDetail } from '../../contract/details.ts';
import { isObject } from '../../core/given.ts';
import { parseKeepingIntegers } from '../../core/parse-exactly.ts';
import { readPartText, type StoredBlock } from '../../core/entry.ts';
import { isoSql } from '../sessions/session-facts.ts';
import { toolStatusSql, toolWaitSql } from './settlement-sql.ts';
import { viewQuery } from '../../database/literal-query.ts';

/** A turn without its steps; `stepCount` is what its row says. */
export type TurnSummary = Omit<TurnView, 'steps' | 'spans'>;

/** A turn and its calls, as `settlement-sql.ts` makes them. */
export interface TurnRow {
  turn: TurnSummary;
  calls: { step: number; call: ModelCallView }[] | null;
  tools: { step: number; tool: ToolCallView }[] | null;
}

/** Puts the value of its reply into a turn as it was read. A reply that is cut has none. */
export function fillOutput(turn: Pick<TurnSummary, 'output' | 'reply'>): void {
  turn.output = turn.output === null || turn.reply === null ? null : readOutput(turn.reply);
}

function readOutput(reply: string): TurnSummary['output'] {
  try {
    const value = parseKeepingIntegers(reply);
    return isObject(value) ? value : null;
  } catch {
    return null;
  }
}

/** The steps of a turn, in order. */
export function buildSteps({ calls, tools }: Pick<TurnRow, 'calls' | 'tools'>): StepView[] {
  const steps = new Map<number, StepView>();
  const buildStep = (n: number): StepView => {
    const step = steps.get(n) ?? { n, calls: [], tools: [] };
    steps.set(n, step);
    return step;
  };
  for (const { step, call } of calls ?? []) buildStep(step).calls.push(call);
  for (const { step, tool } of tools ?? []) buildStep(step).tools.push(tool);
  return [...steps.values()].sort((one, other) => one.n - other.n);
}

// One call of a tool, with what it was given and what came back. Both are in the transcript; a result whose batch has not ended is in the ledger.

/** Null: the turn has no call with this id. */
export const viewToolCall = viewQuery({
  name: 'find-tool-call',
  purpose:
    'Read a call of a tool ($2) of a turn ($1), with the entries of the turn that name it. $3: its id as JSON. An id that was used twice: the last.',
  text: `select c.step, c.call_id as "callId", c.name, ${toolStatusSql('c')} as status, ${toolWaitSql('c')} as "waitsFor", c.is_idempotent as "isIdempotent", c.runs, ${isoSql('c.intent_at')} as "startedAt",
  ${isoSql('c.ended_at')} as "endedAt", c.result, s.key as "sessionKey", (
    select coalesce(json_agg(e.content order by e.seq), '[]') from holdfast.entries e
    where e.session_id = t.session_id and e.seq >= t.prompt_seq and e.turn_id = t.id and e.kind in ('answer', 'results')
      and strpos(e.content::text, $3) > 0
  ) as contents
from holdfast.tool_calls c join holdfast.turns t on t.id = c.turn_id join holdfast.sessions s on s.id = t.session_id
where c.turn_id = $1 and c.call_id = $2 order by c.step desc limit 1`,
  values: (turnId: string, callId: string) => [turnId, callId, JSON.stringify(callId)],
  answer([row]: ToolCallRow[], turnId, callId): ToolCallDetail | null {
    if (row === undefined) return null;
    const { contents, result, ...call } = row;
    const blocks = contents.flat();
    const use = blocks.findLast(({ type, id }) => type === 'tool_use' && id === callId);
    const known = blocks.findLast((block) => block['type'] === 'tool_result' && block['tool_use_id'] === callId);
    const kept = known ?? (result === null ? undefined : { content: result.content, is_error: result.isError });
    return {
      turnId,
      ...call,
      arguments: use === undefined ? null : JSON.stringify(use['input']),
      result: kept === undefined ? null : { text: readPartText(kept), isError: kept['is_error'] === true },
    };
  },
});

type ToolCallRow = Omit<ToolCallDetail, 'turnId' | 'arguments' | 'result'> & {
  result: { content: unknown; isError?: boolean } | null;
  contents: StoredBlock[][];
};
