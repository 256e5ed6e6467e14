// `holdfast waiting`: the waiting messages. `holdfast why`: the reason for which one object waits.
import { nextStep, whyRetried, type Why } from '../../kernel/rules/why.ts';
import { LANES } from '../../core/session-key.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';
import type { ListedTurn } from '../../contract/views.ts';
import type { ApiClient } from '../api-client.ts';
import { readCalls } from '../calls-of-turn.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { command, lists, type Words } from '../command.ts';
import { pages } from '../options.ts';
import { errorText } from '../print.ts';
import type { Terminal } from '../terminal.ts';

export const words: Words = {
  waiting: command({
    takes: {
      ...pages(),
      lane: ['--lane <lane>', 'only in this lane', LANES],
      session: ['--session <key>', 'only in this session'],
      batch: ['--batch <id>', 'only of this batch'],
    },
    run: lists(
      'listWaiting',
      (terminal) => [
        { title: 'MESSAGE', value: (row) => row.id },
        { title: 'SINCE', value: (row) => terminal.time(row.receivedAt) },
        { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 3 },
        { title: 'LANE', value: (row) => row.lane, dropOrder: 5 },
        { title: 'PLACE', value: (row) => row.position, dropOrder: 4 },
        { title: 'WHY', value: (row) => row.why.code, style: () => 'yellow' },
        { title: 'UNTIL', value: (row) => (row.why.until === null ? '' : terminal.time(row.why.until)), dropOrder: 2 },
        { title: 'DETAIL', value: (row) => row.why.text, dropOrder: 1, isProse: true },
      ],
      {
        note({ items, count, isCapped }, terminal) {
          if (items.length > 0) terminal.note(`waiting: ${count}${isCapped ? ' or more' : ''}`);
        },
      },
    ),
  }),
  why: command({
    takes: { what: ['<what>', 'a session key, or the id of a message, a turn or a delivery'] },
    async run({ what }, api, terminal) {
      const found = await findWait(api, what);
      if (terminal.isJson) terminal.json(found);
      else if (found.why === null)
        terminal.print(
          [`${found.kind} ${found.id} does not wait: it is ${found.status}`, ...found.lastTurn].join('\n'),
        );
      else terminal.print(formatParagraph(found.kind, found.id, found.why, terminal));
    },
  }),
};

/** The reason in one paragraph: since when, until when, why, and what to do next. */
function formatParagraph(kind: string, id: string, why: Why, terminal: Terminal): string {
  const until = why.until === null ? '' : `, until ${terminal.time(why.until)} at the latest`;
  const code = terminal.paint('yellow', why.code);
  // A text may end with a command, which a stop would change.
  const text = /[.!?]$/.test(why.text) || why.code === 'paused' ? why.text : `${why.text}.`;
  return `${kind} ${id} has waited since ${terminal.time(why.since)}${until} (${code}). ${text} ${nextStep(why)}`.trim();
}

interface FoundWait {
  kind: 'session' | 'message' | 'turn' | 'delivery';
  id: string;
  status: string;
  why: Why | null;
  /** What went wrong in the turn, or in the last one of the session, for people; empty: nothing did. */
  lastTurn: string[];
}

async function findWait(api: ApiClient, what: string): Promise<FoundWait> {
  if (!isUuid(what)) {
    const session = await unlessMissing(waitOfSession(api, what), isIdEnd(what));
    if (session !== null) return session;
  }
  const message = await unlessMissing(api.getMessage({ id: what }), true);
  if (message !== null)
    return { kind: 'message', id: message.id, status: message.status, why: message.why, lastTurn: [] };
  const delivery = await unlessMissing(api.getDelivery({ id: what }), true);
  if (delivery !== null)
    return { kind: 'delivery', id: delivery.id, status: delivery.status, why: whyRetried(delivery), lastTurn: [] };
  const turn = await api.getTurn({ id: what });
  const { id, status, why } = turn;
  return { kind: 'turn', id, status, why, lastTurn: await describeFaults(api, turn) };
}

/** The error of a turn, its calls that failed or whose outcome is not known, and what to do. */
async function describeFaults(
  api: ApiClient,
  turn: Pick<ListedTurn, 'id' | 'steps' | 'error' | 'nextStep'>,
): Promise<string[]> {
  const calls = await readCalls(api, turn, ['failed', 'unknown']);
  const fault = errorText(turn.error);
  return [
    ...(fault === null ? [] : [`turn ${turn.id}: ${fault}`]),
    ...calls.map(({ name, status, result }) => `${name} (${status}): ${result?.text ?? ''}`),
    ...(turn.nextStep === null ? [] : [turn.nextStep]),
  ];
}

async function waitOfSession(api: ApiClient, named: string): Promise<FoundWait> {
  const { status, key, why } = await api.getSession({ key: named });
  if (why != null) return { kind: 'session', id: key, status, why, lastTurn: [] };
  // A worker runs its turn, or it has only messages that are delivered later.
  const { items } = await api.listWaiting({ session: key });
  const arrived = items.find((item) => item.why.code !== 'delayed');
  const {
    items: [last],
  } = await api.call('listTurns', { session: key, limit: 1 });
  const lastTurn = last === undefined ? [] : await describeFaults(api, last);
  return { kind: 'session', id: key, status, why: (arrived ?? items[0])?.why ?? null, lastTurn };
}

/** What is found; null if it is missing and there is something else to look for. */
async function unlessMissing<Found>(found: Promise<Found>, hasOther: boolean): Promise<Found | null> {
  try {
    return await found;
  } catch (error) {
    if (hasOther && error instanceof CliError && error.exitCode === EXIT.notFound) return null;
    throw error;
  }
}
