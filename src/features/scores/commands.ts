// `holdfast scores`: what people think of turns.
import { InvalidArgumentError } from 'commander';
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { ITS_ID, pages } from '../../cli/options.ts';
import { pastTime } from '../../cli/time-option.ts';
import { COUNTED_BY, SCORE_SIGNS, type ScoreView } from '../../contract/scores.ts';

const RANGE = {
  session: ['--session <key>', 'only this session'],
  agent: ['--agent <id>', 'only turns of this agent'],
  since: ['--since <time>', 'only scores given since: ISO 8601, or a duration such as 7d', pastTime],
} as const;

export const words: Words = {
  scores: {
    set: command({
      summary: 'say what you think of a turn; it replaces what you said before',
      takes: {
        turnId: ['<turn>', 'the id of the turn'],
        score: ['--score <score>', 'good, bad, or a number from -1 to 1', readScore],
        label: ['--label <label>', 'a short word for what is good or bad, such as "wrong tool"'],
        note: ['--note <text>', 'a text for those who read it'],
        author: ['--author <name>', 'who thinks so; by default the name of the API key'],
      },
      run: prints('setScore', (score, terminal) => terminal.print(describeScore(score))),
    }),
    list: command({
      summary: 'list scores, newest first',
      takes: {
        ...pages(),
        ...RANGE,
        turn: ['--turn <id>', 'only this turn'],
        author: ['--author <name>', 'only this author'],
        label: ['--label <label>', 'only this label'],
        score: ['--score <which>', 'only good or bad ones', SCORE_SIGNS],
      },
      run: lists('listScores', (terminal) => [
        { title: 'SCORE', value: (row) => row.score ?? '', align: 'right' },
        { title: 'LABEL', value: (row) => row.label ?? '' },
        { title: 'NOTE', value: (row) => row.note ?? '', dropOrder: 1, isProse: true },
        { title: 'BY', value: (row) => row.author },
        { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 3 },
        { title: 'TURN', value: (row) => row.turnId },
        { title: 'GIVEN', value: (row) => terminal.time(row.createdAt), dropOrder: 2 },
      ]),
    }),
    counts: command({
      summary: 'count good and bad scores',
      takes: { ...RANGE, by: ['--by <what>', 'what makes a group', COUNTED_BY, 'agent'] },
      run: prints('countScores', ({ items, isCapped }, terminal, { by }) => {
        terminal.table(
          [
            { title: by.toUpperCase(), value: (row) => row.name ?? 'no label' },
            { title: 'GOOD', value: (row) => row.good, align: 'right' },
            { title: 'BAD', value: (row) => row.bad, align: 'right' },
            { title: 'SCORES', value: (row) => row.count, align: 'right' },
            { title: 'AVERAGE', value: (row) => row.average?.toFixed(2) ?? '', align: 'right' },
          ],
          items,
        );
        if (isCapped) terminal.note('only the newest scores were read; name a time with --since');
      }),
    }),
    remove: command({
      summary: 'remove a score',
      takes: ITS_ID,
      run: prints('removeScore', ({ id }, terminal) => terminal.print(`the score ${id} is removed`)),
    }),
  },
};

function describeScore({ score, label, note, author, turnId }: ScoreView): string {
  const said = [score, label, note].filter((part) => part !== null).join(', ');
  return `${author} about the turn ${turnId}: ${said}`;
}

/** `good` and `bad` are the ends of the scale. */
function readScore(text: string): number {
  const value = { good: 1, bad: -1 }[text] ?? Number(text);
  if (text.trim() !== '' && value >= -1 && value <= 1) return value;
  throw new InvalidArgumentError('It must be good, bad, or a number from -1 to 1.');
}
