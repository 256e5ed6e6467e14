// Channels and the accounts of their bots.
import { z } from 'zod';
import * as schemas from '../../contract/channels.ts';
import type { Config } from '../../config.ts';
import { notFound } from '../../api/problem.ts';
import { defineEffect, defineRead, defineRoute, noFields, type Route } from '../../api/route.ts';
import { findAccount, pauseOrResume, testAccount, viewChannels, type BotAccount } from './accounts.ts';

const getChannels = defineRead({
  operationId: 'listChannels',
  belongs: 'service',
  path: '/v1/channels',
  summary: 'The channels of the configuration, with the state of their accounts',
  query: z.strictObject({}),
  shows: { description: 'All channels that have an adapter', schema: schemas.channels },
  read: async (_request, { context }) => ({
    items: await viewChannels(context.config, context.reads),
    nextCursor: null,
  }),
});

const pause = (verb: 'pause' | 'resume', summary: string): Route =>
  defineEffect<`/v1/channels/{name}/{account}/${typeof verb}`, { paused: boolean }>({
    operationId: `${verb}Channel`,
    belongs: 'service',
    path: `/v1/channels/{name}/{account}/${verb}`,
    summary,
    answers: { 200: { description: 'Done', schema: schemas.pausedAccount } },
    async perform({ params, idempotency }, { context }) {
      const { channel, account } = requireAccount(context.config, params);
      const isPaused = verb === 'pause';
      return await pauseOrResume(context.service, { channel, account, isPaused }, idempotency);
    },
    show: async ({ paused }, { params: { name, account } }) => ({ channel: name, accountId: account, paused }),
  });

const postTest = defineRoute({
  operationId: 'testChannel',
  belongs: 'service',
  method: 'POST',
  path: '/v1/channels/{name}/{account}/test',
  summary:
    'Ask the platform of an account who the bot is, and what is wrong with its rights and settings. Changes nothing',
  isLong: true,
  body: noFields,
  answers: { 200: { description: 'What the platform answered', schema: schemas.channelTest } },
  async handle({ params }, { context }) {
    return { status: 200, body: await testAccount(context.config, requireAccount(context.config, params)) };
  },
});

function requireAccount(config: Config, { name, account }: { name: string; account: string }): BotAccount {
  const found = findAccount(config, name, account);
  if (found === undefined) throw notFound(`account ${account} of a channel ${name}. GET /v1/channels lists them`);
  return found;
}

export const routes: Route[] = [
  getChannels,
  pause(
    'pause',
    'Let an account neither read nor send. What is to be sent waits, and the platform keeps what people write',
  ),
  pause('resume', 'End the pause of an account'),
  postTest,
];
