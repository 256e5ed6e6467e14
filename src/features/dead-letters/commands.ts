// `holdfast dead`: failed work, grouped by its error, and the actions on it; and `holdfast turns
// retry`.
import type { DeadLetterView, DiscardedLetters, RedrivenLetters } from './contract.ts';
import { failureStep } from '../../core/failure.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';
import type { ApiClient } from '../../cli/api-client.ts';
import { EXIT, notFound, type CliError, type ExitCode } from '../../cli/cli-error.ts';
import { command, lists, type InputOf, type Words } from '../../cli/command.ts';
import { followBulk } from '../bulk-actions/commands.ts';
import { idOfEnd } from '../../cli/id-of-end.ts';
import { endOfPlan } from '../../cli/is-sure.ts';
import { CAREFUL, ITS_ID, pages, wholeNumber } from '../../cli/options.ts';
import { readArgument } from '../../cli/read-argument.ts';
import type { Terminal } from '../../cli/terminal.ts';

const GROUPS_MAX = 200;
const PER_SECOND_MAX = 1_000;

const WHICH = { which: ['<which>', 'a code such as turn_timeout, or the id of a letter'] } as const;

const ACTION = {
  ...CAREFUL,
  ...WHICH,
  perSecond: ['--per-second <count>', 'process them in the background, at this rate', wholeNumber(1, PER_SECOND_MAX)],
} as const;

export const words: Words = {
  turns: {
    retry: command({
      summary: 'repeat the messages of a failed turn, or send another text in their place',
      takes: { ...ITS_ID, text: ['--text <text>', 'what is asked instead; "-" reads it from stdin'] },
      async run({ id, text }, api, terminal) {
        const answer = await api.call('retryTurn', { id, text: text === undefined ? text : await readArgument(text) });
        if (terminal.isJson) return terminal.json(answer);
        const [messageId] = answer.messageIds;
        terminal.print(
          text === undefined ? `the messages of ${id} wait again` : `${messageId} waits in place of ${id}`,
        );
      },
    }),
  },
  dead: {
    list: command({
      summary: 'list open dead letters, grouped by error code',
      takes: {
        state: ['--state <state>', 'list redriven or discarded letters instead'],
        code: ['--code <code>', 'only letters with this error code'],
        ...pages(GROUPS_MAX),
      },
      run: lists('listDeadLetters', (terminal) => [
        { title: 'CODE', value: (row) => row.code, style: () => 'red' },
        { title: 'OF', value: (row) => row.kind },
        { title: 'COUNT', value: (row) => row.count },
        { title: 'LAST', value: (row) => terminal.time(row.lastAt), dropOrder: 2 },
        { title: 'NEWEST REASON', value: (row) => row.letters[0]?.reason, dropOrder: 1, isProse: true },
      ]),
    }),
    show: command({
      summary: 'print the newest dead letters of a code, or one dead letter',
      takes: WHICH,
      async run({ which }, api, terminal) {
        const letters = await findLetters(api, await findWholeId(api, which));
        if (letters.length === 0) {
          throw noLetter(which);
        }
        if (terminal.isJson) return terminal.json(letters);
        terminal.table<DeadLetterView>(
          [
            { title: 'LETTER', value: (row) => row.id },
            { title: 'WHAT', value: (row) => row.title, dropOrder: 5, isProse: true },
            { title: 'SESSION', value: (row) => row.sessionTitle, dropOrder: 2, isProse: true },
            { title: 'TURN OR DELIVERY', value: (row) => row.deliveryId ?? row.turnId ?? '', dropOrder: 3 },
            { title: 'CREATED', value: (row) => terminal.time(row.createdAt), dropOrder: 4 },
            { title: 'REASON', value: (row) => row.reason, dropOrder: 1, isProse: true },
          ],
          letters,
        );
      },
    }),
    redrive: command({
      summary: 'retry turns and send deliveries again; exit 9 if some dead letters stay open',
      takes: { ...ACTION, canary: ['--canary', 'redrive one first; the others follow if it succeeds'] },
      run: act('redrive'),
    }),
    discard: command({
      summary: 'give up letters',
      takes: ACTION,
      run: act('discard'),
    }),
  },
};

/**
 * Redrives or discards the open letters of a code, or one letter. Exit 9 when some were skipped.
 */
function act(verb: 'redrive' | 'discard') {
  return async (
    { which: typed, dryRun, yes, ...how }: InputOf<typeof ACTION> & { canary?: boolean | undefined },
    api: ApiClient,
    terminal: Terminal,
  ): Promise<ExitCode> => {
    const which = await findWholeId(api, typed);
    const end = await endOfPlan({ dryRun, yes }, terminal, () => buildPlan(api, verb, which));
    if (end !== null) return end;
    const letters = isUuid(which) ? { ids: [which] } : { code: which };
    const operation = verb === 'redrive' ? 'redriveDeadLetters' : 'discardDeadLetters';
    const answer = await api.call(operation, { ...letters, ...how });
    if ('id' in answer) return followBulk(api, answer.id, terminal);
    const done: Partial<RedrivenLetters & DiscardedLetters> = answer;
    const { discarded = 0, redriven = 0, skipped = 0, remaining = 0 } = done;
    if (discarded + redriven + skipped + remaining === 0 && failureStep(which) === null) throw noLetter(which);
    if (terminal.isJson) terminal.json(done);
    else if (verb === 'discard') terminal.print(`${discarded} discarded`);
    else terminal.print(`${redriven} redriven, ${skipped} skipped, ${remaining} remaining`);
    for (const { id, reason } of done.letters ?? []) if (reason !== null) terminal.note(`${id}: ${reason}`);
    return skipped + remaining > 0 ? EXIT.partly : EXIT.ok;
  };
}

function noLetter(which: string): CliError {
  return notFound(
    `there is no open dead letter ${which}`,
    '"holdfast dead list" shows the codes of those that are open',
  );
}

/** The id that a text is the end of; any other text as it is. */
async function findWholeId(api: ApiClient, which: string): Promise<string> {
  return isIdEnd(which) ? idOfEnd(api, which, 'deadLetter') : which;
}

/**
 * The number of open letters that a command concerns, and the reason of the newest. One letter is
 * done without a question.
 */
async function buildPlan(api: ApiClient, verb: string, which: string) {
  const groups = isUuid(which) ? [] : (await api.listDeadLetters({ limit: GROUPS_MAX, code: which })).items;
  const letters = isUuid(which) ? await findLetters(api, which) : groups.flatMap((group) => group.letters);
  const total = isUuid(which) ? letters.length : groups.reduce((sum, { count }) => sum + count, 0);
  const newest = letters[0] === undefined ? '' : ` (the newest: ${letters[0].reason})`;
  return { total, text: `${verb} ${total} dead letter${total === 1 ? '' : 's'}${newest}`, isSmall: total <= 1 };
}

async function findLetters(api: ApiClient, which: string): Promise<DeadLetterView[]> {
  const byId = isUuid(which);
  const body = await api.listDeadLetters({ limit: GROUPS_MAX, ...(byId ? {} : { code: which }) });
  const letters = body.items.flatMap((group) => group.letters);
  return byId ? letters.filter(({ id }) => id === which.toLowerCase()) : letters;
}
