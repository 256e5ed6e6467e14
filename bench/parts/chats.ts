// (v) Messages that people write on a chat platform, on a scripted Telegram: the time until its
// webhook is answered beside 64 busy sessions, and the time from the update to the model's request,
// by webhook and by poll. Each stands beside the same message over HTTP in the same run.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { startScriptedTelegram, type ScriptedTelegram } from '../../scripted-platform/telegram/scripted-telegram.ts';
import { alternate } from '../rig/alternate.ts';
import { formatNumber, type BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { benchApiKey, type BenchService } from '../rig/bench-service.ts';
import { openHttpClient, type HttpClient } from '../rig/http-client.ts';
import { msOf } from '../rig/ms-of.ts';
import { slowTurnText, turnText } from '../rig/prompts.ts';
import { median, quantile } from '../rig/statistics.ts';
import { until } from '../rig/until.ts';

export const chats: BenchPart = { letter: 'v', title: 'messages of a chat platform', run };

const busySessions = 64;
const busyModelMs = 200;
/** Between two messages beside the busy sessions. */
const gapMs = 50;
const chatsBeside = 8;
const pollMs = 2;
const text = '[[reply: Done.]]';
const secretToken = 'secret-of-the-webhook';
/** Two bots, because an account has one mode. */
const bots = { webhook: '1001', poll: '1002' };

type Way = 'http' | keyof typeof bots;

interface Rig {
  context: BenchContext;
  service: BenchService;
  telegram: ScriptedTelegram;
  http: HttpClient;
}

async function run(context: BenchContext): Promise<BarLine[]> {
  const telegram = await startScriptedTelegram({ tokens: Object.values(bots).map(tokenOf) });
  const channelOf = (mode: keyof typeof bots) => {
    const account = { token: tokenOf(bots[mode]), baseUrl: telegram.url, dm: 'open' };
    const main = mode === 'webhook' ? { ...account, secretToken } : account;
    return { adapter: 'telegram', mode, accounts: { main } };
  };
  const channels = { pushed: channelOf('webhook'), polled: channelOf('poll') };
  const settings = { channels, messages: { queue: { debounceMs: 0 } } };
  try {
    return await withService(context, { settings }, async (service) => {
      const http = openHttpClient(service.url, benchApiKey, busySessions);
      const rig = { context, service, telegram, http };
      context.say('warming up');
      await service.run({ sessions: busySessions, turnsEach: 8, text: turnText });
      for (const way of ['http', 'webhook', 'poll'] as const) await untilRequests(rig, way, 10);
      const lines = [...(await measureRequests(rig)), await measureAnswers(rig)];
      http.close();
      return lines;
    });
  } finally {
    await telegram.close();
  }
}

/** From the message to the request that the model receives, while nothing else happens. */
async function measureRequests(rig: Rig): Promise<BarLine[]> {
  const { rounds, messages } = rig.context.isQuick ? { rounds: 3, messages: 10 } : { rounds: 7, messages: 40 };
  rig.context.say(`${messages} messages over HTTP, by webhook and by poll, ${rounds} rounds`);
  const side = (name: Way) => ({ name, measure: async () => median(await untilRequests(rig, name, messages)) });
  const { runsOf } = await alternate(rounds, [side('http'), side('webhook'), side('poll')], Number);
  const overHttp = runsOf('http');
  return (['webhook', 'poll'] as const).map((way) => ({
    part: 'v',
    what: `from a message to the model's request, by ${way}, more than over HTTP, median`,
    floor: `over HTTP ${formatNumber(median(overHttp))} ms`,
    holdfast: `${formatNumber(median(runsOf(way)))} ms`,
    measured: median(runsOf(way).map((ms, round) => ms - overHttp[round]!)),
    unit: ' ms',
    bar: 50,
    sense: 'atMost',
  }));
}

/** One message after the other, each of another person in a session of its own. */
async function untilRequests(rig: Rig, way: Way, count: number): Promise<number[]> {
  const { service, telegram, context } = rig;
  const times: number[] = [];
  for (let n = 1; n <= count; n += 1) {
    const person = newPerson();
    await context.model.takeCalls();
    const beganAtMs = nowMs();
    if (way === 'http') await service.send(`agent:main:bench-chat-${randomUUID()}`, text);
    else {
      if (way === 'poll') telegram.say({ bot: bots.poll, from: person, text });
      else await push(rig, person);
      await until(pollMs, () => Promise.resolve(isAnswered(telegram, bots[way], person)));
    }
    const [call, ...more] = await context.model.takeCalls();
    if (call === undefined || more.length > 0) throw new Error(`a message had ${more.length + 1} model calls, not one`);
    times.push(call.startedAtMs - beganAtMs);
  }
  return times;
}

/**
 * From the request of the platform to its 200, beside busy sessions; in turns with messages over
 * HTTP.
 */
async function measureAnswers(rig: Rig): Promise<BarLine> {
  const { service, context } = rig;
  const turnsEach = context.isQuick ? 10 : 60;
  context.say(`webhooks beside ${busySessions} busy sessions`);
  const people = Array.from({ length: chatsBeside }, newPerson);
  const sessions = await service.seed(chatsBeside, 0);
  const times = { webhook: [] as number[], http: [] as number[] };
  const load = { sessions: busySessions, turnsEach, text: slowTurnText(busyModelMs), spreadMs: 2 * busyModelMs };
  let isOver = false;
  const loaded = service.run(load).finally(() => (isOver = true));
  for (let n = 0; !isOver; n += 1) {
    const path = `/v1/sessions/${sessions[n % chatsBeside]}/messages`;
    times.webhook.push(await msOf(() => push(rig, people[n % chatsBeside]!)));
    times.http.push(await msOf(() => service.ask('POST', path, { text })));
    await delay(gapMs);
  }
  const { turnsPerSecond } = await loaded;
  context.say(`${times.webhook.length} webhooks, ${formatNumber(turnsPerSecond)} turns/s beside them`);
  return {
    part: 'v',
    what: `from a webhook to its 200 beside ${busySessions} busy sessions, p99`,
    floor: `over HTTP ${describe(times.http)}`,
    holdfast: describe(times.webhook),
    measured: quantile(times.webhook, 0.99),
    unit: ' ms',
    bar: 200,
    sense: 'atMost',
  };
}

function describe(times: readonly number[]): string {
  return `p50 ${formatNumber(quantile(times, 0.5))} p99 ${formatNumber(quantile(times, 0.99))} ms`;
}

/** Sends what the person writes as Telegram does; rejects unless it is accepted. */
async function push({ telegram, http }: Rig, person: number): Promise<void> {
  const message = telegram.say({ bot: bots.webhook, from: person, text });
  const update = { update_id: (updates += 1), message };
  const headers = { 'x-telegram-bot-api-secret-token': secretToken };
  const { status, body } = await http.post('/v1/channels/pushed/main/webhook', update, headers);
  if (status !== 200) throw new Error(`a webhook was answered ${status}: ${JSON.stringify(body)}`);
}

function isAnswered(telegram: ScriptedTelegram, bot: string, person: number): boolean {
  return telegram.messages(person, bot).some(({ from }) => from?.is_bot);
}

let people = 100_000;
let updates = 0;

function newPerson(): number {
  return (people += 1);
}

function tokenOf(bot: string): string {
  return `${bot}:scripted`;
}

/** On the clock that the processes of a machine share. */
function nowMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
