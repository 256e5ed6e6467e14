// `holdfast eval`: evaluations, started from a file, shown and controlled. The wait for one, and what
// is said of its end, are in files of their own.
import { command, lists, prints, type Words } from '../../../cli/command.ts';
import { EXIT, usageError } from '../../../cli/cli-error.ts';
import { ITS_ID, pages, parseRate, wholeNumber } from '../../../cli/options.ts';
import { moneyText } from '../../../core/words.ts';
import { countRuns, refuseUnwritable, watchEvaluation } from './eval-watch.ts';
import { readEvaluationFile, uploadCases } from './evaluation-file.ts';
import { nameOf, type ShownEvaluation } from '../rules/reports.ts';

const ITEMS_MAX = 1_000_000;

/** What is demanded of an evaluation, and where its reports are written. */
const ENDS = {
  failUnder: ['--fail-under <share>', 'exit 9 if less of the items pass: from 0 to 1, such as 0.9', parseRate],
  maxWorse: ['--max-worse <count>', 'exit 9 if more items are worse than with the baseline', wholeNumber(0, ITEMS_MAX)],
  junit: ['--junit <file>', 'write JUnit XML to this file'],
  markdown: ['--markdown <file>', 'write a comment for a pull request to this file'],
} as const;

export const words: Words = {
  eval: {
    run: command({
      summary: 'start the evaluation of a file, and follow it to its end; Ctrl-C leaves it running',
      takes: {
        file: ['<file>', 'the fields of POST /v1/evaluations, in JSON5'],
        ...ENDS,
        wait: ['--no-wait', 'only start it; print its id'],
      },
      async run({ file, wait, ...ends }, api, terminal) {
        const { request, cases } = await readEvaluationFile(file);
        if (ends.maxWorse !== undefined && Array.isArray(request['candidates']) && request['candidates'].length === 1)
          throw usageError(
            '--max-worse needs two candidates: the first is the baseline',
            'add a candidate, or leave it out',
          );
        const { failUnder, maxWorse, junit, markdown } = ends;
        if (!wait && [failUnder, maxWorse, junit, markdown].some((end) => end !== undefined))
          throw usageError(
            '--no-wait does not wait for the end, of which thresholds and reports are',
            'give them to "holdfast eval show <id> --wait"',
          );
        for (const report of [junit, markdown]) if (report !== undefined) await refuseUnwritable(report);
        if (cases !== null) await uploadCases(cases, api, terminal);
        const started = await api.call('startEvaluation', request);
        const { id } = started;
        if (wait) {
          terminal.note(`started ${id}`);
          return watchEvaluation({ id, ...ends }, api, terminal);
        }
        if (terminal.isJson) terminal.json(started);
        else terminal.print(id);
        return EXIT.ok;
      },
    }),
    show: command({
      summary: 'print an evaluation, and its results once it has ended',
      takes: { ...ITS_ID, wait: ['--wait', 'follow it to its end first'], ...ENDS },
      run: ({ id, wait, ...ends }, api, terminal) =>
        watchEvaluation({ id, ...ends, isOnce: wait !== true }, api, terminal),
    }),
    list: command({
      summary: 'list evaluations, newest first',
      takes: {
        ...pages(),
        status: ['--status <status>', 'only in this state, such as running'],
        dataset: ['--dataset <name>', 'only of this data set'],
      },
      run: lists('listEvaluations', (terminal) => [
        { title: 'EVALUATION', value: (row) => row.id },
        { title: 'NAME', value: (row) => nameOf(row), dropOrder: 2 },
        { title: 'STATUS', value: (row) => row.outcome ?? row.status },
        { title: 'RUNS', value: countRuns, align: 'right', dropOrder: 3 },
        { title: 'VERDICT', value: (row) => row.results.flatMap((one) => one.comparison?.verdict ?? []).join(', ') },
        { title: 'COST', value: (row) => moneyText(row.costUsd), align: 'right', dropOrder: 1 },
        { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 4 },
      ]),
    }),
    pause: command({
      summary: 'start no more runs; runs in flight finish',
      takes: ITS_ID,
      run: prints('pauseEvaluation', stateText),
    }),
    resume: command({
      summary: 'resume a paused evaluation',
      takes: ITS_ID,
      run: prints('resumeEvaluation', stateText),
    }),
    cancel: command({
      summary: 'cancel an evaluation; what has ended is graded',
      takes: ITS_ID,
      run: prints('cancelEvaluation', stateText),
    }),
    delete: command({
      summary: 'delete an ended evaluation with its results',
      takes: ITS_ID,
      run: prints('deleteEvaluation', (_answer, _terminal, { id }) => `the evaluation ${id} is deleted`),
    }),
  },
};

function stateText(evaluation: ShownEvaluation): string {
  return `${evaluation.id}  ${evaluation.outcome ?? evaluation.status}  ${countRuns(evaluation)}`;
}
