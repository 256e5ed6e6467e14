// The load of a soak: fifty sessions whose clients send one message after the other, each with an
// effect and a reply that is delivered; every tenth message spawns a subagent with an effect of its
// own; five crons fire every second. A client sends a message until it is accepted, always with the
// same Idempotency-Key.
import { setTimeout as delay } from 'node:timers/promises';
import type { Stage } from './stage.ts';

export interface SentMessage {
  session: string;
  /** The first word of its text, unique. */
  marker: string;
  /** Null until a 2xx came back. */
  id: string | null;
}

export interface SoakCron {
  id: string;
  /** Epoch milliseconds. */
  firstSlotMs: number;
}

export interface SoakLoad {
  sent: SentMessage[];
  crons: SoakCron[];
  /** Ends the clients after the message that each is at, and disables the crons. */
  stop(): Promise<void>;
}

const sessions = 50;
const cronCount = 5;
const spawnEvery = 10;
/**
 * Between two messages of a client, so that a machine of two cores has about a third of its time
 * left.
 */
const pauseMs = { min: 3_000, spread: 2_000 };
const retryMs = 1_000;
const waitSeconds = 20;

/** The text of the reply to a message. */
export function replyTo(marker: string): string {
  return `Done with ${marker}.`;
}

/** Creates the crons and starts the clients. */
export async function startLoad(stage: Stage): Promise<SoakLoad> {
  const sent: SentMessage[] = [];
  const crons: SoakCron[] = [];
  for (let n = 1; n <= cronCount; n += 1) crons.push(await createCron(stage, n));
  const stopped = new AbortController();
  const clients = Array.from({ length: sessions }, async (_, index) => {
    await delay((index * pauseMs.min) / sessions);
    for (let n = 1; !stopped.signal.aborted; n += 1) {
      const message = { session: `soak-${index + 1}`, marker: `s${index + 1}m${n}`, id: null };
      sent.push(message);
      await sendUntilAccepted(stage, message, n, stopped.signal);
      await delay(pauseMs.min + ((n * 37 + index * 61) % 100) * (pauseMs.spread / 100));
    }
  });
  return {
    sent,
    crons,
    async stop() {
      stopped.abort();
      await Promise.all(clients);
      for (const { id } of crons) {
        const { status } = await stage.ask('PATCH', `/v1/crons/${id}`, { enabled: false });
        if (status !== 200) throw new Error(`The cron ${id} could not be disabled: the answer was ${status}.`);
      }
    },
  };
}

async function createCron(stage: Stage, n: number): Promise<SoakCron> {
  const { status, body } = await stage.ask('POST', '/v1/crons', {
    name: `soak-${n}`,
    schedule: { kind: 'cron', expr: '* * * * * *' },
    payload: { kind: 'agentTurn', message: `tick ${n} [[reply: Tick.]]` },
    misfire: 'run_once',
    delivery: { mode: 'none' },
  });
  if (status !== 201) throw new Error(`A cron was answered ${status}: ${JSON.stringify(body)}`);
  return { id: body.id, firstSlotMs: Date.parse(body.nextSlotAt) };
}

async function sendUntilAccepted(stage: Stage, message: SentMessage, n: number, stopped: AbortSignal): Promise<void> {
  const { session, marker } = message;
  const body = { text: textOf(marker, n), mode: 'followup', deliver: { url: stage.receiver.url } };
  const headers = { 'idempotency-key': marker, prefer: `wait=${stopped.aborted ? 0 : waitSeconds}` };
  for (;;) {
    const answer = await stage.ask('POST', `/v1/sessions/${session}/messages`, body, headers).catch(() => null);
    if (answer !== null && answer.status < 300) {
      message.id = answer.body.message?.id ?? answer.body.id;
      return;
    }
    if (answer !== null && answer.status < 500 && answer.status !== 429)
      throw new Error(`${marker} was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
    await delay(answer?.retryAfter ? answer.retryAfter * 1_000 : retryMs);
  }
}

function textOf(marker: string, n: number): string {
  const effect = `[[tool: http_effect ${JSON.stringify({ key: marker })}]]`;
  const task = `[[tool: http_effect ${JSON.stringify({ key: `${marker}-child` })}]] [[reply: The result of ${marker}-child.]]`;
  const spawn = `[[tool: sessions_spawn ${JSON.stringify({ label: `${marker}-child`, task })}]]`;
  return [`${marker}.`, effect, ...(n % spawnEvery === 0 ? [spawn] : []), `[[reply: ${replyTo(marker)}]]`].join(' ');
}
