// A message with the text of an answer so far, which is edited while the answer is written. The answer itself is sent by the outbox (finish-preview.ts).
import { capabilitiesOf } from '../../../config/message-features.ts';
import { cutHead } from '../../../core/text.ts';
import type { TurnContext } from '../../../kernel/turn/context.ts';
import type { Platform } from '../platform.ts';
import type { OpenedChat } from '../accounts.ts';
import { isCostlyMarkdown } from '../rules/costly-markdown.ts';
import { chatGapMs } from '../send.ts';
import { beginPreview, holdPreview, PREVIEW_REQUEST_MS, releasePreview } from '../store/previews.ts';
import { removeMessage } from './remove-left-over.ts';

const PLACEHOLDER = '…';
/** The least time between two edits, in times between two messages of the chat. */
const GAPS = 1.2;
/** An edit that begins later after its place in the row was stored is left out: the process was suspended. */
const BEGIN_MS_MAX = 500;

/** The least time between two such requests of an account in a process, in milliseconds: a third of what Telegram allows. */
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

export function createPreview(
  { config, database, logger }: TurnContext,
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

/** The beginning of a text, as much as one message holds; empty where its markdown takes too long to read, so that it will be a file. */
function cutToLimit({ textLimit: { max, measure } }: Platform, text: string): string {
  let cut = cutHead(text.trim(), max);
  if (isCostlyMarkdown(cut)) return '';
  while (measure(cut) > max) cut = cutHead(cut, Math.floor(cut.length * 0.9));
  return cut;
}
