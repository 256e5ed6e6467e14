// The tool calls of a turn, step by step, and where a run first did something else than the turn
// that it repeats. `matchCalls` of the tries says which recorded result a call of a run gets.
import { joinText } from '../../../core/content.ts';
import type { Entry } from '../../../core/entry.ts';
import { cutHead } from '../../../core/text.ts';
import { keyOfCall, listRecorded, type RecordedCall } from '../../tries/rules.ts';
import type { Divergence } from '../contract.ts';
import type { RecordedStep } from './cases.ts';

/** A call of a tool without its result. */
export type CallFacts = Pick<RecordedCall, 'name' | 'input'>;

const SHOWN_CHARS_MAX = 500;

/**
 * The steps of a turn from its entries, in order: one for each answer that called tools. A message
 * that joined before the first answer is in the stored request, and in no step.
 */
export function listSteps(entries: readonly Pick<Entry, 'kind' | 'content'>[]): RecordedStep[] {
  const answers = entries.flatMap(({ kind }, at) => (kind === 'answer' ? [at] : []));
  return answers.flatMap((answer, index) => {
    // Providers may use the id of a call again in a later answer, so each step is read by itself.
    const step = entries.slice(answer, answers[index + 1]);
    const calls = listRecorded(step);
    const joined = step.filter(({ kind }) => kind === 'steer').map(({ content }) => joinText(content));
    return calls.length === 0 ? [] : [{ calls, joined }];
  });
}

/**
 * The first step at which a run did something else than was recorded; null: none so far. `done`:
 * its steps that called tools. `hasAnswered`: it has given its last answer after them.
 */
export function findDivergence(
  recorded: readonly { calls: readonly CallFacts[] }[],
  done: readonly { calls: readonly CallFacts[] }[],
  hasAnswered: boolean,
): Divergence | null {
  for (const [at, { calls }] of done.entries()) {
    const step = at + 1;
    const expected = recorded[at]?.calls;
    if (expected === undefined) return { step, kind: 'continued', expected: null, got: callsText(calls) };
    const other = findOtherCall(expected, calls);
    if (other !== null) return { step, kind: 'call', ...other };
  }
  const next = recorded[done.length];
  if (next === undefined || !hasAnswered) return null;
  return { step: done.length + 1, kind: 'ended', expected: callsText(next.calls), got: null };
}

/** The calls of one step are compared in their order. */
function findOtherCall(
  expected: readonly CallFacts[],
  got: readonly CallFacts[],
): Pick<Divergence, 'expected' | 'got'> | null {
  for (let at = 0; at < Math.max(expected.length, got.length); at += 1) {
    const [one, other] = [expected[at], got[at]];
    if (one !== undefined && other !== undefined && keyOfCall(one) === keyOfCall(other)) continue;
    return {
      expected: one === undefined ? null : callsText([one]),
      got: other === undefined ? null : callsText([other]),
    };
  }
  return null;
}

function callsText(calls: readonly CallFacts[]): string {
  return cutHead(calls.map(callText).join(', '), SHOWN_CHARS_MAX);
}

/** A call as people read it, such as `find_order({"id":4})`. */
export function callText({ name, input }: CallFacts): string {
  return `${name}(${JSON.stringify(input)})`;
}
