// `holdfast attention`: the problems that need an operator.
import { command, lists, type Words } from '../command.ts';
import type { Style } from '../style.ts';

const STYLES: Record<string, Style> = { error: 'red', warning: 'yellow' };

export const words: Words = {
  attention: {
    list: command({
      summary: 'list the problems, open errors first',
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
  },
};
