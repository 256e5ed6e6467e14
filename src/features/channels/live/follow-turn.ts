// Follows a turn in the process that runs it, by its events, and shows in its chat that it works:
// typing, and a preview, which is a message with the text of the answer so far. The answer itself
// is sent by the outbox (finish-preview.ts). All of it can be left out: it is dropped when there is
// much to do, nothing of it is repeated, and no failure of it reaches the turn.
import { setTimeout as pause } from 'node:timers/promises';
import { capabilitiesOf } from '../../../config/agent-settings.ts';
import type { InboundMessage } from '../../../core/inbound.ts';
import { EVERYTHING } from '../../../core/scope.ts';
import { cutHead } from '../../../core/text.ts';
import { mayCommand } from '../../../kernel/rules/chat-command.ts';
import type { TurnContext } from '../../../kernel/turn/context.ts';
import type { OpenedTurn } from '../../../kernel/turn/opened-turn.ts';
import { readEventHorizon, readEvents } from '../../../kernel/views/events.ts';
import type { Logger } from '../../../logger.ts';
import { openChat, type OpenedChat } from '../accounts.ts';
import type { Platform } from '../platform.ts';
import { isCostlyMarkdown } from '../rules/markdown.ts';
import { chatGapMs } from '../send.ts';
import { beginPreview, holdPreview, PREVIEW_REQUEST_MS, releasePreview } from '../store/previews.ts';
import { removeLeftOver, removeMessage } from './finish-preview.ts';

/** How many turns a process follows at once. */
const FOLLOWED_MAX = 50;
/**
 * How often the events of a turn are read, in milliseconds; a quarter more or less, so that turns
 * do not ask their platform at the same time.
 */
const READ_MS = 1_500;
const EVENTS_MAX = 1_000;
const FOLLOWED_EVENTS = ['model.delta', 'turn.parked', 'turn.ended'];

interface Chat {
  url: string;
  /** What the turn answers. */
  message: InboundMessage;
}

const followed = new Set<string>();

/** Follows a turn until it ends, or this process does not run it any more. */
export function followTurn(context: TurnContext, turn: OpenedTurn, chat: Chat): void {
  // Another worker has another epoch.
  const name = `${turn.id} ${turn.held.epoch}`;
  if (followed.has(name) || followed.size >= FOLLOWED_MAX) return;
  followed.add(name);
  follow(context, turn, chat)
    .catch((error: unknown) => {
      context.logger.debug({ err: error, turnId: turn.id }, 'A chat could not be shown that its turn works');
    })
    .finally(() => followed.delete(name));
}

async function follow(context: TurnContext, turn: OpenedTurn, { url, message }: Chat): Promise<void> {
  const {
    config,
    store: { database },
  } = context;
  // What the model says comes after this.
  let after = (await readEventHorizon(database.views)) - 1n;
  const chat = await openChat(config, url);
  const typing = createTyping(chat, context.logger);
  const preview = createPreview(context, chat, {
    turnId: turn.id,
    url,
    mayStop: mayCommand(message, config.owner.ids),
  });
  const filter = { scope: EVERYTHING, turn: { id: turn.id, sessionId: turn.session.id }, types: FOLLOWED_EVENTS };
  let said = { call: 0, text: '' };
  typing.show();
  while (turn.held.isTrusted && !context.isDraining()) {
    await pause(READ_MS * (0.75 + context.random() / 2), undefined, { ref: false });
    const { events } = await readEvents(database.views, filter, { after, limit: EVENTS_MAX });
    const before = said.text;
    for (const { id, type, data } of events) {
      after = id;
      if (type === 'turn.parked') return;
      if (type === 'turn.ended') return removeLeftOver({ config, database }, turn.id);
      const { call, text } = data as { call: number; text: string };
      said = { call, text: call === said.call ? said.text + text : text };
    }
    if (turn.held.signal.aborted) continue;
    typing.show();
    // Text of one reading may be the whole answer, which is sent at once.
    if (before !== '' || preview.isShown()) await preview.show(said.text);
  }
}

const PLACEHOLDER = '…';
/** The least time between two edits, in times between two messages of the chat. */
const GAPS = 1.2;
/**
 * An edit that begins later after its place in the row was stored is left out: the process was
 * suspended.
 */
const BEGIN_MS_MAX = 500;

/**
 * The least time between two such requests of an account in a process, in milliseconds: a third of
 * what Telegram allows.
 */
const ACCOUNT_GAP_MS = 100;

const askedAtMs = new Map<string, number>();

/** Whether a request of an account may be sent now; then it counts as sent. */
function mayAsk({ account }: OpenedChat): boolean {
  const name = JSON.stringify([account.channel, account.account]);
  const nowMs = performance.now();
  if (nowMs - (askedAtMs.get(name) ?? -ACCOUNT_GAP_MS) < ACCOUNT_GAP_MS) return false;
  askedAtMs.set(name, nowMs);
  return true;
}

interface Preview {
  isShown: () => boolean;
  /** Shows the text in the chat if it may. After a failure, it shows nothing more. */
  show: (text: string) => Promise<void>;
}

function createPreview(
  { config, logger, store: { database } }: TurnContext,
  chat: OpenedChat,
  { turnId, url, mayStop }: { turnId: string; url: string; mayStop: boolean },
): Preview {
  const { platform, account, to } = chat;
  const { edit } = platform;
  const name = { turnId, url };
  const hasButtons = mayStop && capabilitiesOf(config, account.channel).includes('inlineButtons');
  const stop = hasButtons ? { buttons: [{ label: 'Stop', value: '/stop' }] } : {};
  let isOff = edit === undefined || account.ofChannel.previews === false;
  let platformId: string | null = null;
  let shown = '';
  let nextAtMs = 0;

  async function begin(): Promise<void> {
    const begun = await beginPreview(database, name);
    if (begun.kind === 'closed') isOff = true;
    if (begun.kind === 'known') ({ platformId } = begun);
    if (begun.kind !== 'new') return;
    const signal = AbortSignal.timeout(PREVIEW_REQUEST_MS);
    let sent: string | null = null;
    try {
      sent = (await platform.send(to, { markdown: PLACEHOLDER, deliveryId: turnId, ...stop }, signal)).platformId;
    } finally {
      isOff = !(await releasePreview(database, { ...name, platformId: sent }));
    }
    // The answer was sent meanwhile.
    if (isOff) await removeMessage(platform, to, sent);
    platformId = sent;
  }

  async function update(id: string, text: string): Promise<void> {
    const askedAtMs = performance.now();
    if (!(await holdPreview(database, name))) return;
    try {
      if (performance.now() - askedAtMs > BEGIN_MS_MAX) return;
      await edit!(to, id, { markdown: text, ...stop }, AbortSignal.timeout(PREVIEW_REQUEST_MS));
      shown = text;
    } finally {
      await releasePreview(database, { ...name, platformId: id });
    }
  }

  return {
    isShown: () => platformId !== null,
    async show(said) {
      if (isOff || performance.now() < nextAtMs) return;
      const text = cutToLimit(platform, said);
      if (text === '' || text === shown || !mayAsk(chat)) return;
      nextAtMs = performance.now() + GAPS * chatGapMs(config, url);
      try {
        await (platformId === null ? begin() : update(platformId, text));
      } catch (error) {
        isOff = true;
        logger.debug({ err: error, turnId }, 'The text of an answer could not be shown while it is written');
      }
    },
  };
}

/**
 * The beginning of a text, as much as one message holds; empty where its markdown takes too long to
 * read, so that it will be a file.
 */
function cutToLimit({ textLimit: { max, measure } }: Platform, text: string): string {
  let cut = cutHead(text.trim(), max);
  if (isCostlyMarkdown(cut)) return '';
  while (measure(cut) > max) cut = cutHead(cut, Math.floor(cut.length * 0.9));
  return cut;
}

/** Platforms show it for 5 to 10 seconds. */
const TYPING_MS = 4_000;
const TYPING_REQUEST_MS = 4_000;

/** `show` is called often; it waits for nothing. After a failure, nothing more is shown. */
function createTyping({ platform, to }: OpenedChat, logger: Logger): { show: () => void } {
  let nextAtMs = platform.showTyping === undefined ? Infinity : 0;
  return {
    show() {
      if (performance.now() < nextAtMs) return;
      nextAtMs = performance.now() + TYPING_MS;
      platform.showTyping?.(to, AbortSignal.timeout(TYPING_REQUEST_MS)).catch((error: unknown) => {
        nextAtMs = Infinity;
        logger.debug({ err: error }, 'Typing could not be shown');
      });
    },
  };
}
