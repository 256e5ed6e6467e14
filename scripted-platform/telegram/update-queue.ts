// The updates of one bot: they wait until the bot confirms them, by the offset of its next poll or
// by accepting them at its webhook.
import type { Recorded, RecordedPush } from '../call-log.ts';
import { Pushes, post, type Disorder, type PostFailure, type PushRules } from '../pushes.ts';
import { Refused } from './refused.ts';
import type { Json } from './world.ts';

export interface Update extends Json {
  update_id: number;
}

export interface Webhook {
  url: string;
  secretToken: string | undefined;
  maxConnections: number;
}

export interface PollWish {
  offset: number;
  limit: number;
  timeoutMs: number;
  allowed: string[] | undefined;
}

/** These are sent only to bots that ask for them by name. */
const ON_REQUEST = new Set(['chat_member', 'message_reaction', 'message_reaction_count']);

export class UpdateQueue {
  readonly #rules: PushRules;
  readonly #record: Recorded<RecordedPush>;
  /** Called when there is an update, or with why the poll has to end. */
  #waiting: ((conflict: Refused | null) => void) | null = null;
  #updates: { update: Update; lane: string }[] = [];
  #nextId: number;
  #allowed: string[] = [];
  #webhook: Webhook | null = null;
  #pushes: Pushes;
  #lastError: { at: number; message: string } | null = null;

  constructor(rules: PushRules, record: Recorded<RecordedPush>, firstId: number) {
    this.#rules = rules;
    this.#record = record;
    this.#nextId = firstId;
    this.#pushes = new Pushes(rules);
  }

  /**
   * Adds an update of a kind, such as `message`; undefined: the bot does not receive this kind.
   * Updates of a lane are pushed in their order.
   */
  add(kind: string, content: unknown, lane: string): Update | undefined {
    const isAllowed = this.#allowed.length === 0 ? !ON_REQUEST.has(kind) : this.#allowed.includes(kind);
    if (!isAllowed) return undefined;
    // The update keeps what is true now: messages change.
    const update = { update_id: this.#nextId, [kind]: structuredClone(content) };
    this.#nextId += 1;
    this.#updates.push({ update, lane });
    if (this.#webhook !== null) this.#push(this.#webhook, update, lane);
    else this.#waiting?.(null);
    return update;
  }

  /** Throws `Refused` when there is a webhook, or while it waits a second poll began. */
  async poll({ offset, limit, timeoutMs, allowed }: PollWish, signal: AbortSignal): Promise<Update[]> {
    if (this.#webhook !== null)
      // prettier-ignore
      throw new Refused(409, "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first");
    if (allowed !== undefined) this.#allowed = allowed;
    this.#endPoll('terminated by other getUpdates request; make sure that only one bot instance is running');
    if (offset < 0) this.#updates = this.#updates.slice(offset);
    else this.#updates = this.#updates.filter(({ update }) => update.update_id >= offset);
    if (this.#updates.length === 0 && timeoutMs > 0) await this.#wait(timeoutMs, signal);
    return this.#updates.slice(0, limit).map(({ update }) => update);
  }

  setWebhook(
    webhook: Webhook | null,
    { allowed, dropsPending }: { allowed: string[] | undefined; dropsPending: boolean },
  ): void {
    if (webhook !== null) this.#endPoll('terminated by setWebhook request');
    if (allowed !== undefined) this.#allowed = allowed;
    if (dropsPending) this.#updates = [];
    this.#pushes.close();
    this.#pushes = new Pushes(this.#rules);
    this.#webhook = webhook;
    this.#lastError = null;
    if (webhook !== null) for (const { update, lane } of this.#updates) this.#push(webhook, update, lane);
  }

  /** As `getWebhookInfo` answers. */
  get info(): Json {
    const { url = '', maxConnections } = this.#webhook ?? {};
    // prettier-ignore
    const error = this.#lastError === null ? {} : { last_error_date: this.#lastError.at, last_error_message: this.#lastError.message };
    return {
      url,
      has_custom_certificate: false,
      pending_update_count: this.#updates.length,
      ...(maxConnections === undefined ? {} : { max_connections: maxConnections }),
      ...(this.#allowed.length === 0 ? {} : { allowed_updates: this.#allowed }),
      ...error,
    };
  }

  /** Those that the bot has not confirmed. */
  get pending(): Update[] {
    return this.#updates.map(({ update }) => update);
  }

  disturb(disorder: Disorder): void {
    this.#pushes.disturb(disorder);
  }

  close(): void {
    this.#pushes.close();
    this.#waiting?.(null);
  }

  #endPoll(why: string): void {
    this.#waiting?.(new Refused(409, why));
  }

  async #wait(timeoutMs: number, signal: AbortSignal): Promise<void> {
    const conflict = await new Promise<Refused | null>((resolve) => {
      const timer = setTimeout(() => end(null), timeoutMs);
      const stop = (): void => end(null);
      const end = (result: Refused | null): void => {
        clearTimeout(timer);
        signal.removeEventListener('abort', stop);
        if (this.#waiting === end) this.#waiting = null;
        resolve(result);
      };
      this.#waiting = end;
      signal.addEventListener('abort', stop);
    });
    if (conflict !== null) throw conflict;
  }

  #push({ url, secretToken }: Webhook, update: Update, lane: string): void {
    const headers = {
      'content-type': 'application/json',
      ...(secretToken === undefined ? {} : { 'x-telegram-bot-api-secret-token': secretToken }),
    };
    const body = JSON.stringify(update);
    const { timeoutMs } = this.#rules;
    this.#pushes.add(lane, async (attempt, signal) => {
      const failure = await post({ url, body, headers, attempt, timeoutMs }, this.#record, signal);
      if (failure === null) this.#updates = this.#updates.filter((each) => each.update !== update);
      else this.#lastError = { at: Math.floor(Date.now() / 1000), message: describeFailure(failure) };
      return failure === null;
    });
  }
}

function describeFailure({ kind, status }: NonNullable<PostFailure>): string {
  if (kind === 'status') return `Wrong response from the webhook: ${status}`;
  return kind === 'timeout' ? 'Read timeout expired' : 'Connection refused';
}
