// `holdfast search`: words in messages, replies and errors.
import { command, lists, type Words } from '../../cli/command.ts';
import { pages } from '../../cli/options.ts';
import { pastTime } from '../../cli/time-option.ts';
import type { Style } from '../../cli/table.ts';

const KIND_STYLES: Record<string, Style> = { error: 'red', reply: 'cyan' };

export const words: Words = {
  search: command({
    takes: {
      q: ['<words>', 'all of them have to be there; "in quotation marks": next to each other; -word: not this one'],
      ...pages(),
      kind: ['--kind <kind>', 'only messages, replies or errors', ['message', 'reply', 'error']],
      session: ['--session <key>', 'only this session'],
      since: ['--since <time>', 'only since: ISO 8601, or a duration such as 12h', pastTime],
    },
    run: lists(
      'search',
      (terminal) => [
        { title: 'TIME', value: (row) => terminal.time(row.at) },
        { title: 'KIND', value: (row) => row.kind, style: (row) => KIND_STYLES[row.kind] },
        { title: 'SESSION', value: (row) => row.sessionTitle, isProse: true },
        { title: 'ENTRY', value: (row) => row.entrySeq, dropOrder: 2 },
        { title: 'TURN', value: (row) => row.turnId, dropOrder: 3 },
        { title: 'WORDS', value: (row) => row.snippet.text, dropOrder: 1, isProse: true },
        { title: 'KEY', value: (row) => row.sessionKey, dropOrder: 4 },
      ],
      { none: 'Nothing that was said has these words.' },
    ),
  }),
};
