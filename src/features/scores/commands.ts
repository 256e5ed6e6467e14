// `holdfast scores`: what people think of turns.
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { ITS_ID, pages } from '../../cli/options.ts';
import { pastTime } from '../../cli/time-option.ts';
import { COUNTED_BY, readScoreValue } from '../../contract/scores.ts';

const RANGE = {
  session: ['--session <key>', 'only this session'],
  agent: ['--agent <id>', 'only turns of this agent'],
  score: ['--score <name>', 'only scores of this name'],
  since: ['--since <time>', 'only scores given since: ISO 8601, or a duration such as 7d', pastTime],
} as const;

export const words: Words = {
  scores: {
    set: command({
      summary: 'say what you think of a turn; it replaces what you said under the same name',
      takes: {
        id: ['<turn>', 'the id of the turn'],
        score: ['<score>', 'the name of the score, such as helpful'],
        value: ['<value>', 'true, false, a number or a text', readScoreValue],
        note: ['--note <text>', 'a text for those who read it'],
        by: ['--by <name>', 'who thinks so; by default the name of the API key'],
      },
      run: prints('setScore', ({ score, value, note, by, turnId }) =>
        [`${by ?? 'Another key'} about the turn ${turnId}: ${score} ${value}`, note ?? []].flat().join(', '),
      ),
    }),
    list: command({
      summary: 'list scores, newest first',
      takes: {
        ...pages(),
        ...RANGE,
        turn: ['--turn <id>', 'only this turn'],
        author: ['--author <name>', 'only this author'],
      },
      run: lists('listScores', (terminal) => [
        { title: 'SCORE', value: (row) => row.score },
        { title: 'VALUE', value: (row) => String(row.value), isProse: true },
        { title: 'NOTE', value: (row) => row.note ?? '', dropOrder: 1, isProse: true },
        { title: 'BY', value: (row) => row.by ?? 'another key' },
        { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 3 },
        { title: 'TURN', value: (row) => row.turnId },
        { title: 'GIVEN', value: (row) => terminal.time(row.createdAt), dropOrder: 2 },
      ]),
    }),
    counts: command({
      summary: 'count good and bad scores',
      takes: { ...RANGE, by: ['--by <what>', 'what makes a group', COUNTED_BY, 'score'] },
      run: prints('countScores', ({ items, isCapped }, terminal, { by }) => {
        terminal.table(
          [
            { title: by.toUpperCase(), value: (row) => row.name ?? 'other keys' },
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
