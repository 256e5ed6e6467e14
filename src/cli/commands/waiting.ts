// `holdfast waiting`: the waiting messages. `holdfast why`: the reason for which one object waits.
import type { WaitingView as WaitingAnswer } from '../../contract/waiting.ts';
import type { Why as WhyAnswer } from '../../core/waiting/why.ts';
import { isIdEnd, isUuid } from '../../core/ids.ts';
import { nextStep } from '../../core/waiting/next-step.ts';
import { whyRetried } from '../../core/waiting/why-retried.ts';
import { connectApi, fromOptions, type ApiClient, type ClientFlags } from '../api-client.ts';
import { CliError, EXIT, type ExitCode } from '../cli-error.ts';
import { noteNextPage, printTable } from '../print.ts';
import type { Terminal } from '../terminal.ts';
import type { WaitingOptions } from '../waiting-commands.ts';

/** Lists waiting messages, oldest first. */
export async function runWaiting(options: WaitingOptions, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const body = await connectApi(flags).listWaiting(fromOptions(options));
  printTable<WaitingAnswer>(
    body,
    [
      { title: 'MESSAGE', value: (row) => row.id },
      { title: 'SINCE', value: (row) => terminal.time(row.receivedAt) },
      { title: 'SESSION', value: (row) => row.sessionKey, dropOrder: 3 },
      { title: 'LANE', value: (row) => row.lane, dropOrder: 5 },
      { title: 'PLACE', value: (row) => String(row.position), align: 'right', dropOrder: 4 },
      { title: 'WHY', value: (row) => row.why.code, style: () => 'yellow' },
      { title: 'UNTIL', value: (row) => (row.why.until === null ? '' : terminal.time(row.why.until)), dropOrder: 2 },
      { title: 'DETAIL', value: (row) => row.why.text, dropOrder: 1, isProse: true },
    ],
    terminal,
  );
  if (body.items.length > 0) terminal.note(`waiting: ${body.count}${body.isCapped ? ' or more' : ''}`);
  noteNextPage(body, terminal);
  return EXIT.ok;
}

/** Says why a session, a message, a turn or a delivery waits, or that it does not. */
export async function runWhy(what: string, flags: ClientFlags, terminal: Terminal): Promise<ExitCode> {
  const found = await findWait(connectApi(flags), what);
  if (terminal.isJson) terminal.json(found);
  else if (found.why === null) terminal.print(`${found.kind} ${found.id} does not wait: it is ${found.status}`);
  else terminal.print(paragraphOf(found.kind, found.id, found.why, terminal));
  return EXIT.ok;
}

/** The reason in one paragraph: since when, until when, why, and what to do next. */
function paragraphOf(kind: string, id: string, why: WhyAnswer, terminal: Terminal): string {
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
  why: WhyAnswer | null;
}

async function findWait(api: ApiClient, what: string): Promise<FoundWait> {
  if (!isUuid(what)) {
    const session = await unlessMissing(waitOfSession(api, what), isIdEnd(what));
    if (session !== null) return session;
  }
  const message = await unlessMissing(api.getMessage({ id: what }), true);
  if (message !== null) return { kind: 'message', id: message.id, status: message.status, why: message.why };
  const delivery = await unlessMissing(api.getDelivery({ id: what }), true);
  if (delivery !== null)
    return { kind: 'delivery', id: delivery.id, status: delivery.status, why: whyRetried(delivery) };
  const { id, status, why } = await api.getTurn({ id: what });
  return { kind: 'turn', id, status, why };
}

async function waitOfSession(api: ApiClient, named: string): Promise<FoundWait> {
  const { status, key, why } = await api.getSession({ key: named });
  if (why != null) return { kind: 'session', id: key, status, why };
  // A worker runs its turn, or it has only messages that are delivered later.
  const { items } = await api.listWaiting({ session: key });
  const arrived = items.find((item) => item.why.code !== 'delayed');
  return { kind: 'session', id: key, status, why: (arrived ?? items[0])?.why ?? null };
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
