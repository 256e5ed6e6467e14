// Sends the events of one app to it: to its request URL, signed, or over its sockets. Slack tries
// an event three more times; then it is lost.
import { createHmac } from 'node:crypto';
import type { Recorded, RecordedPush } from '../call-log.ts';
import { post, Pushes, type Disorder, type PostFailure, type PushRules } from '../pushes.ts';
import type { Sockets } from './sockets.ts';
import type { App, Channel, Json, Message, Workspace } from './workspace.ts';

type Kind = 'events_api' | 'interactive';

const RETRY_REASONS = { status: 'http_error', timeout: 'http_timeout', connection: 'connection_failed' };
const TOKEN = 'scripted-verification-token';

export class EventSender {
  /** Where events and presses are posted; null: over the sockets. */
  eventsUrl: string | null = null;
  interactivityUrl: string | null = null;
  readonly sockets: Sockets;
  readonly #app: App;
  readonly #workspace: Workspace;
  readonly #rules: PushRules;
  readonly #record: Recorded<RecordedPush>;
  readonly #pushes: Pushes;

  constructor({
    app,
    workspace,
    sockets,
    rules,
    record,
  }: {
    app: App;
    workspace: Workspace;
    sockets: Sockets;
    rules: PushRules;
    record: Recorded<RecordedPush>;
  }) {
    // prettier-ignore
    this.#app = app;
    this.#workspace = workspace;
    this.#rules = rules;
    this.#record = record;
    this.#pushes = new Pushes(rules);
    this.sockets = sockets;
  }

  /**
   * Sets the request URL after Slack's check of it. Rejects when the receiver does not answer with
   * the challenge.
   */
  async subscribe(url: string, interactivityUrl: string): Promise<void> {
    const challenge = this.#workspace.newId('challenge-');
    const body = JSON.stringify({ token: TOKEN, challenge, type: 'url_verification' });
    const posting = {
      url,
      body,
      headers: this.#sign(body, 'application/json'),
      attempt: 1,
      timeoutMs: this.#rules.timeoutMs,
    };
    const failure = await post(posting, this.#record, new AbortController().signal);
    const answer = this.#record.entries.findLast((push) => push.url === url)?.answer ?? '';
    if (failure !== null || !(answer === challenge || answer.includes(`"${challenge}"`)))
      // prettier-ignore
      throw new Error(`${url} did not answer with the challenge: its answer was ${failure?.status ?? 200} "${answer.slice(0, 200)}"`);
    this.eventsUrl = url;
    this.interactivityUrl = interactivityUrl;
  }

  disturb(disorder: Disorder): void {
    this.#pushes.disturb(disorder);
  }

  close(): void {
    this.#pushes.close();
    this.sockets.close();
  }

  /** A message in a channel where the bot is: an event, and another one if the bot is mentioned. */
  tellMessage(channel: Channel, message: Message): void {
    const { metadata: _metadata, ...shown } = message;
    const event = { ...shown, channel: channel.id, event_ts: message.ts };
    this.tell(channel, { ...event, channel_type: channel.kind });
    const mentions = [`<@${this.#app.botUser}>`, `<@${this.#app.botUser}|`];
    if (channel.kind !== 'im' && mentions.some((mention) => message.text.includes(mention)))
      this.tell(channel, { ...event, type: 'app_mention' });
  }

  tellChange(channel: Channel, message: Message, previous: Message): void {
    const ts = this.#workspace.newTs();
    // prettier-ignore
    this.tell(channel, { type: 'message', subtype: 'message_changed', channel: channel.id, channel_type: channel.kind, hidden: true, ts, event_ts: ts, message, previous_message: previous });
  }

  tell(channel: Channel, event: Json): void {
    if (!channel.isMember) return;
    const { team, id: appId, botUser } = this.#app;
    const payload = {
      token: TOKEN,
      team_id: team,
      api_app_id: appId,
      event,
      type: 'event_callback',
      event_id: this.#workspace.newId('Ev'),
      event_time: Math.floor(Date.now() / 1000),
      authorizations: [
        { enterprise_id: null, team_id: team, user_id: botUser, is_bot: true, is_enterprise_install: false },
      ],
      is_ext_shared_channel: false,
    };
    this.#send('events_api', channel.id, structuredClone(payload));
  }

  /** Presses are sent once. */
  press(channel: Channel, payload: Json): void {
    this.#send('interactive', channel.id, structuredClone({ ...payload, token: TOKEN, api_app_id: this.#app.id }));
  }

  #send(kind: Kind, lane: string, payload: Json): void {
    let failed: PostFailure = null;
    this.#pushes.add(lane, async (attempt, signal) => {
      const url = kind === 'interactive' ? this.interactivityUrl : this.eventsUrl;
      const isLast = kind === 'interactive';
      if (url === null)
        return (await this.sockets.send({ kind, payload, attempt, timeoutMs: this.#rules.timeoutMs })) || isLast;
      const isForm = kind === 'interactive';
      const body = isForm
        ? new URLSearchParams({ payload: JSON.stringify(payload) }).toString()
        : JSON.stringify(payload);
      // prettier-ignore
      const retry = failed === null ? {} : { 'x-slack-retry-num': String(attempt - 1), 'x-slack-retry-reason': RETRY_REASONS[failed.kind] };
      const headers = {
        ...this.#sign(body, isForm ? 'application/x-www-form-urlencoded' : 'application/json'),
        ...retry,
      };
      failed = await post({ url, body, headers, attempt, timeoutMs: this.#rules.timeoutMs }, this.#record, signal);
      return failed === null || failed.isFinal || isLast;
    });
  }

  #sign(body: string, type: string): Record<string, string> {
    return { 'content-type': type, ...signatureOf(this.#app.signingSecret, body, Math.floor(Date.now() / 1000)) };
  }
}

/** The headers that prove that a request is from Slack. `at`: seconds. */
export function signatureOf(secret: string, body: string, at: number): Record<string, string> {
  const digest = createHmac('sha256', secret).update(`v0:${at}:${body}`).digest('hex');
  return { 'x-slack-request-timestamp': String(at), 'x-slack-signature': `v0=${digest}` };
}
