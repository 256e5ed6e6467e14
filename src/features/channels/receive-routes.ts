// Where platforms send what people write: to any process with the API. The answer follows the
// commit: a platform that gets another answer, or none, sends it again.
import { answerWithin, notFound, overloaded, Problem } from '../../api/problem.ts';
import { defineRoute, type Api, type Route } from '../../api/route.ts';
import type { ApiContext } from '../../api/context.ts';
import { findAccount, platformOf } from './accounts.ts';
import { PlatformError } from './platform.ts';
import { createPush, type Receive } from './receive.ts';

/** Larger than any update: files are fetched, not sent. */
const BODY_BYTES_MAX = 1_048_576;
/**
 * Shorter than Telegram waits. Slack waits 3 s and sends the request again, which is a duplicate of
 * one that is committed by then.
 */
const COMMIT_MS_MAX = 20_000;

const receivers = new WeakMap<ApiContext, Receive>();

function receiveOf({ context }: Api): Receive {
  const receive = receivers.get(context) ?? createPush(context);
  receivers.set(context, receive);
  return receive;
}

const postUpdate = defineRoute({
  operationId: 'receiveFromChannel',
  belongs: 'public',
  method: 'POST',
  path: '/v1/channels/{name}/{account}/webhook',
  isPublic: true,
  isAudited: false,
  takes: { as: 'raw', bodyBytesMax: BODY_BYTES_MAX },
  summary: 'Requests of a chat platform, which has no key but signs them',
  answers: {
    200: { description: 'Everything in the request is committed; the platform decides what the answer says' },
    503: { description: 'It is not committed; the platform sends it again' },
  },
  async handle({ params, headers, rawBody }, api) {
    const { config } = api.context;
    const account = findAccount(config, params.name, params.account);
    // Answered like a wrong signature, so that strangers do not learn which accounts there are.
    if (account === undefined || account.mode !== 'webhook') throw wrongSignature();
    const platform = await platformOf(config, account);
    if (platform.readWebhook === undefined) throw notFound('webhook of this platform');
    const reading = await platform
      .readWebhook({ headers: singleHeaders(headers), rawBody: rawBody ?? Buffer.alloc(0) })
      .catch(askAgain);
    if (reading === null) throw wrongSignature();
    const { answer, received } = reading;
    const result = await answerWithin(
      receiveOf(api)(account, received).catch(askAgain),
      COMMIT_MS_MAX,
      'The request timed out, and may have been committed. Send it again.',
    );
    if (result.kind === 'full') throw overloaded('Too many messages wait. Send the request again.');
    if (result.kind === 'lost') throw overloaded('The account is paused. Send the request again.');
    return {
      status: answer.status,
      body: answer.body ?? '',
      headers: { 'content-type': answer.type ?? 'text/plain; charset=utf-8' },
    };
  },
});

function wrongSignature(): Problem {
  return new Problem(
    'unauthorized',
    'There is no such account with webhooks, or the signature of the request is not that of the platform. Check the address and the secret of the account.',
  );
}

function singleHeaders(headers: object): Record<string, string | undefined> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}

/** A platform that cannot be asked who the bot is keeps the request. */
function askAgain(error: unknown): never {
  throw error instanceof PlatformError ? overloaded(error.message) : error;
}

export const routes: Route[] = [postUpdate];
