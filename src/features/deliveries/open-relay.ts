// The relay of the outbox in a worker, with the channels that it delivers to.
import type { Registry } from 'prom-client';
import { systemClock } from '../../clock.ts';
import { ensureWebhookSecrets, secretsOf, type Config } from '../../config.ts';
import { createRedact } from '../../config/redact-secrets.ts';
import type { Process, ProcessPart } from '../../kernel/processes/process-part.ts';
import { metricIn } from '../../metrics.ts';
import { isLoopbackHost } from '../../network/public-address.ts';
import type { Channel } from './channel.ts';
import { relayDeliveries, type DeliveryOutcome } from './outbox-relay.ts';
import { createWebhookChannel } from './webhook-channel.ts';

export async function openRelay({ service, live, logger, identity, tracing, metrics }: Process): Promise<ProcessPart> {
  const { config, database, publish } = service;
  const channels = new Map<string, Channel>([['webhook', await openWebhook(config)]]);
  let next: Channel | undefined;
  live.follow({
    prepare: async (changed) => {
      next = await openWebhook(changed);
    },
    apply() {
      if (next !== undefined) channels.set('webhook', next);
    },
  });
  const onSettled = metrics === null ? undefined : countDeliveries(metrics);
  const relay = {
    database,
    config,
    owner: identity.name,
    channels,
    publish,
    random: Math.random,
    tracing,
    logger,
    onSettled,
  };
  return { deliver: ({ sessionId, signal, draining }) => relayDeliveries(relay, sessionId, signal, draining) };
}

async function openWebhook(config: Config): Promise<Channel> {
  const { webhook } = config.channels;
  const secrets = await ensureWebhookSecrets(config);
  return createWebhookChannel({
    secrets,
    timeoutMs: webhook.timeoutMs,
    clock: systemClock,
    trustedUrl: webhook.url,
    allowPrivate: webhook.allowPrivate,
    mayReachLoopback: isLoopbackHost(config.runtime.host),
    redact: createRedact([...secretsOf(config), ...secrets]),
  });
}

function countDeliveries(registry: Registry): (status: DeliveryOutcome) => void {
  const deliveries = metricIn(registry, 'holdfast_deliveries_total');
  // A rate needs a first value: the first failure must count.
  for (const status of ['sent', 'failed', 'retried'] as const) deliveries.inc({ status }, 0);
  return (status) => deliveries.inc({ status });
}
