// `holdfast bindings`: which agent gets the messages of which chats.
import type { BindingView } from '../../contract/bindings.ts';
import { command, lists, prints, type Words } from '../../cli/command.ts';

export const words: Words = {
  bindings: {
    list: command({
      summary: 'list the bindings of the configuration',
      takes: {},
      run: lists(
        'listBindings',
        () => [
          { title: 'N', value: ({ index }) => String(index) },
          { title: 'AGENT', value: ({ agent }) => agent },
          { title: 'CHATS', value: showMatch },
        ],
        {
          none: 'no bindings',
          note: ({ defaultAgent }, terminal) => terminal.note(`all other chats: agent ${defaultAgent}`),
        },
      ),
    }),
    explain: command({
      summary: 'say which agent gets the messages of a chat, and by which binding',
      takes: {
        channel: ['<channel>', 'the key below "channels" in the configuration'],
        accountId: ['--account <name>', 'the key below its "accounts"'],
        chatId: ['--chat <id>', 'the id of the chat'],
        threadId: ['--thread <id>', 'the id of the thread or topic'],
        guild: ['--guild <id>', 'the id of the server of Discord'],
        team: ['--team <id>', 'the id of the workspace of Slack'],
      },
      run: prints('explainBinding', ({ agent, binding, candidates }, terminal) => {
        const why = binding === null ? 'no binding matches: it is the first agent' : `by ${showBinding(binding)}`;
        terminal.print(`agent ${agent}, ${why}`);
        for (const other of candidates.slice(1)) terminal.note(`less specific: ${showBinding(other)}`);
      }),
    }),
  },
};

function showBinding(binding: BindingView): string {
  return `bindings[${binding.index}] (agent ${binding.agent}: ${showMatch(binding)})`;
}

function showMatch({ match }: BindingView): string {
  return Object.entries(match)
    .map(([key, value]) => `${key} ${value}`)
    .join(', ');
}
