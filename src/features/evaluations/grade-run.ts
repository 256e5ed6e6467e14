// Grades a run, with what its graders need beside their rules: the validator of JSON Schema, and a
// limit of time for patterns, since a pattern of a client could run for ever on a text of a model.
import { runInNewContext } from 'node:vm';
import { loadFaultFinder } from '../../model/check-output.ts';
import type { Grade, PlainGrader } from './contract.ts';
import { applyGrader, type GradedCase, type GradedRun, type GradingChecks } from './rules/graders.ts';

const PATTERN_MS_MAX = 100;

export async function gradeRun(grader: PlainGrader, run: GradedRun, of: GradedCase): Promise<Grade> {
  return applyGrader(grader, { run, of, checks: { findFaults: await loadFaultFinder(), findMatch } });
}

const findMatch: GradingChecks['findMatch'] = (pattern, text) => {
  try {
    const found: unknown = runInNewContext(
      'new RegExp(source, flags).test(text)',
      { ...pattern, text },
      { timeout: PATTERN_MS_MAX },
    );
    return found === true;
  } catch (error) {
    const isLate = (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
    return {
      fault: isLate ? `The pattern took more than ${PATTERN_MS_MAX} ms.` : `The pattern was refused: ${String(error)}.`,
    };
  }
};
