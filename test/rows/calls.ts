import { newId } from '../../src/ids.ts';
import { table, type Store } from './table.ts';

export const {
  read: readModelCalls,
  count: countModelCalls,
  add: addModelCalls,
  remove: removeModelCalls,
} = table('model_calls', 'turn_id, call_no', {
  text: 'turnId status purpose tier',
  int: 'callNo step epoch untilSeq inputTokens outputTokens cacheReadTokens cacheWriteTokens cacheWrite1hTokens',
  'text?': 'stopReason responseId requestSha256 model priceVersion',
  'json?': 'error view notes',
  time: 'startedAt endedAt',
  'time?': 'firstChunkAt',
  'int?': 'costMicros',
  bool: 'isEstimated isSimulated',
});

export const {
  read: readToolCalls,
  count: countToolCalls,
  change: changeToolCalls,
  add: addToolCalls,
} = table(
  'tool_calls',
  'turn_id, step, ordinal',
  {
    text: 'turnId callId name status',
    int: 'step ordinal epoch runs',
    bool: 'isIdempotent',
    'json?': 'result',
    'text?': 'heldFor',
    time: 'intentAt',
    'time?': 'endedAt heldUntil unknownAt',
  },
  { ordinary: () => ({ step: 1, ordinal: 1, epoch: 1, callId: newId<string>(), name: 'echo', isIdempotent: false }) },
);

/** The tokens of the prompt of each call, in the order of their starts. */
export async function readPromptTokens(store: Store): Promise<number[]> {
  const calls = await readModelCalls(store);
  return calls
    .toSorted((one, other) => Number(one.startedAt) - Number(other.startedAt))
    .map(({ inputTokens, cacheReadTokens, cacheWriteTokens }) => inputTokens + cacheReadTokens + cacheWriteTokens);
}
