// Grades a run, with what its graders need beside their rules: the validator of JSON Schema, and a
// limit of time for patterns, since a pattern of a client could run for ever on a text of a model.
import { createContext, Script, type Context } from 'node:vm';
import { loadFaultFinder } from '../../model/check-output.ts';
import type { Grade, PlainGrader } from './contract.ts';
import { applyGrader, type GradedCase, type GradingChecks, type RunToGrade } from './rules/graders.ts';

const PATTERN_MS_MAX = 100;
/** A pattern that was cut off so often is not tried again, since it keeps all else waiting. */
const CUT_OFFS_MAX = 2;
const TRIES_MAX = 5;

export async function gradeRun(grader: PlainGrader, run: RunToGrade, of: GradedCase): Promise<Grade> {
  return applyGrader(grader, { run, of, checks: { findFaults: await loadFaultFinder(), findMatch } });
}

/** How often patterns were cut off, as long as the evaluation that was read with them is used. */
const cutOffs = new WeakMap<object, number>();

const findMatch: GradingChecks['findMatch'] = (grader, text) => {
  const earlier = cutOffs.get(grader) ?? 0;
  if (earlier >= CUT_OFFS_MAX)
    return { fault: `The pattern was not tried: it took more than ${PATTERN_MS_MAX} ms for other runs.` };
  try {
    const found = testInTime(new RegExp(grader.pattern, grader.flags), text);
    if (found !== null) return found;
    cutOffs.set(grader, earlier + 1);
    return { fault: `The pattern took more than ${PATTERN_MS_MAX} ms.` };
  } catch (error) {
    return { fault: `The pattern was refused: ${String(error)}.` };
  }
};

// Only a script can be cut off. One context is for all, since a new one takes a millisecond.
const TEST = new Script('pattern.test(text)');
let context: Context | undefined;

/**
 * Null: it was cut off. The limit is of the clock: a process that waited for a busy processor instead
 * tries again.
 */
function testInTime(pattern: RegExp, text: string): boolean | null {
  context ??= createContext({});
  Object.assign(context, { pattern, text });
  for (let tried = 0; tried < TRIES_MAX; tried += 1) {
    const before = process.cpuUsage();
    try {
      return TEST.runInContext(context, { timeout: PATTERN_MS_MAX }) === true;
    } catch (error) {
      if ((error as { code?: unknown }).code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error;
      const { user, system } = process.cpuUsage(before);
      if ((user + system) / 1_000 > PATTERN_MS_MAX / 2) return null;
    }
  }
  return null;
}
