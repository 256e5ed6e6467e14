// `holdfast attention`: the problems that need an operator, and what an operator decides about
// them.
import { command, lists, prints, type Words } from '../../cli/command.ts';
import { createDurationParser } from '../../cli/options.ts';
import type { Style } from '../../cli/table.ts';

const STYLES: Record<string, Style> = { error: 'red', warning: 'yellow' };

const PROBLEM = {
  attentionId: ['<id>', 'its id'],
  reason: ['--reason <text>', 'the reason, shown with the problem'],
} as const;

export const words: Words = {
  attention: {
    list: command({
      summary: 'list the problems, open ones first, by their consequence',
      run: lists(
        'getAttention',
        (terminal) => [
          { title: 'SEVERITY', value: (row) => row.severity, style: (row) => STYLES[row.severity] },
          { title: 'STATE', value: (row) => row.state },
          { title: 'SINCE', value: (row) => terminal.time(row.since), dropOrder: 2 },
          { title: 'PROBLEM', value: (row) => row.text, isProse: true },
          { title: 'FIX', value: (row) => row.fix, dropOrder: 1, isProse: true },
          { title: 'ID', value: (row) => row.id },
        ],
        {
          note({ items }, terminal) {
            if (items.length === 0) terminal.note('nothing needs attention');
          },
        },
      ),
    }),
    acknowledge: command({
      summary: 'acknowledge a problem: until it ends it is not counted, and stands last',
      takes: PROBLEM,
      run: prints('acknowledgeAttention', ({ text }) => `acknowledged: ${text}`),
    }),
    snooze: command({
      summary: 'do not count a problem for some time; it stands last meanwhile',
      takes: {
        ...PROBLEM,
        seconds: [
          '--for <duration>',
          'for how long, such as 30m; an hour by default; 0: it is open again',
          (text: string) => Math.round(createDurationParser('--for')(text) / 1000),
        ],
      },
      run: prints('snoozeAttention', ({ text, mark }, { time }) =>
        mark?.until == null ? `open again: ${text}` : `snoozed until ${time(mark.until)}: ${text}`,
      ),
    }),
  },
};
