// `holdfast waiting`: the waiting messages. `holdfast why`: the reason for which one object waits.
import { nextStep, whyRetried, type Why } from '../../kernel/rules/why.ts';
import { LANES } from '../../core/session-key.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';
import { failureStep } from '../../core/failure.ts';
import type { Failure, TurnView } from '../../contract/views.ts';
import type { Schemas } from '../../client/operations.ts';
import type { ApiClient } from '../api-client.ts';
import { readCallWords } from '../calls-of-turn.ts';
import { CliError, EXIT } from '../cli-error.ts';
import { command, lists, type Words } from '../command.ts';
import { pages } from '../options.ts';
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
        { title: 'WHAT', value: (row) => row.title, dropOrder: 6, isProse: true },
        { title: 'SESSION', value: (row) => row.sessionTitle, dropOrder: 3, isProse: true },
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
      else if (found.why !== null) terminal.print(formatParagraph(found.kind, found.id, found.why, terminal));
      else {
        const { kind, id, status, failure, calls } = found;
        const state =
          failure === null ? `${kind} ${id} does not wait: it is ${status}` : formatFailure(found, failure, terminal);
        terminal.print([state, ...calls].join('\n'));
      }
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

/** What failed, since when, why, and what to do next. */
function formatFailure({ kind, id }: FoundWait, { turnId, ...failure }: EndedBadly, terminal: Terminal): string {
  const what =
    turnId === undefined ? `${kind} ${id} has failed` : `the last turn of ${kind} ${id}, ${turnId}, has failed`;
  const text = /[.!?]$/.test(failure.text) ? failure.text : `${failure.text}.`;
  const code = terminal.paint('red', failure.code);
  return `${what}, since ${terminal.time(failure.since)} (${code}). ${text} ${failure.nextStep ?? ''}`.trim();
}

/** An end that a person has to know of; `turnId`: of the turn that failed, if it is something else. */
type EndedBadly = Omit<Failure, 'turnId'> & { turnId?: string };

interface FoundWait {
  kind: 'session' | 'message' | 'turn' | 'delivery';
  id: string;
  status: string;
  why: Why | null;
  failure: EndedBadly | null;
  /** Calls of the turn, or of the last one of the session, that failed or whose outcome is not known, for people. */
  calls: string[];
}

/** The failure of a thing with an error that has ended. */
function failureOf(error: { code: string; message: string } | null, since: string | null): EndedBadly | null {
  if (error === null || since === null) return null;
  return { code: error.code, text: error.message, since, nextStep: failureStep(error.code) };
}

async function findWait(api: ApiClient, what: string): Promise<FoundWait> {
  if (!isUuid(what)) {
    const session = await unlessMissing(waitOfSession(api, what), isIdEnd(what));
    if (session !== null) return session;
  }
  const message = await unlessMissing(api.getMessage({ id: what }), true);
  if (message !== null) {
    const failure = message.status === 'failed' ? failureOf(message.error, message.settledAt) : null;
    return { kind: 'message', id: message.id, status: message.status, why: message.why, failure, calls: [] };
  }
  const delivery = await unlessMissing(api.getDelivery({ id: what }), true);
  if (delivery !== null) {
    const { id, status } = delivery;
    return { kind: 'delivery', id, status, why: whyRetried(delivery), failure: failureOfDelivery(delivery), calls: [] };
  }
  const turn = await api.getTurn({ id: what });
  const { id, status, why, error, endedAt } = turn;
  const calls = why === null ? await describeCalls(api, turn) : [];
  return { kind: 'turn', id, status, why, failure: failureOf(error, endedAt), calls };
}

/** The calls of a turn that failed or whose outcome is not known, and what to do if it ended well. */
async function describeCalls(api: ApiClient, { id, steps, error, nextStep }: TurnView): Promise<string[]> {
  const calls = steps.flatMap(({ tools }) => tools).filter(({ status }) => status === 'failed' || status === 'unknown');
  const words = calls.length === 0 ? null : await readCallWords(api, id);
  return [
    ...calls.map(({ callId, name, status }) => `${name} (${status}): ${words?.get(callId)?.result ?? ''}`),
    ...(nextStep === null || error !== null ? [] : [nextStep]),
  ];
}

function failureOfDelivery({ id, status, lastError, settledAt }: Schemas['Delivery']): EndedBadly | null {
  if (!['failed', 'expired', 'unknown'].includes(status) || settledAt === null) return null;
  const nextStep = `Correct the receiver, then: holdfast deliveries redrive ${id}`;
  return { code: status, text: lastError ?? 'The receiver has not answered.', since: settledAt, nextStep };
}

async function waitOfSession(api: ApiClient, named: string): Promise<FoundWait> {
  const { status, key, why, failure } = await api.getSession({ key: named });
  if (why != null) return { kind: 'session', id: key, status, why, failure: null, calls: [] };
  // A worker runs its turn, or it has only messages that are delivered later.
  const { items } = await api.listWaiting({ session: key });
  const arrived = items.find((item) => item.why.code !== 'delayed');
  const waits = (arrived ?? items[0])?.why ?? null;
  const [last] = waits === null ? (await api.call('listTurns', { session: key, limit: 1 })).items : [];
  return {
    kind: 'session',
    id: key,
    status,
    why: waits,
    failure: waits === null && status === 'idle' ? failure : null,
    calls: last === undefined ? [] : await describeCalls(api, await api.getTurn({ id: last.id })),
  };
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
