// A process that asks a model once and is frozen when the connection is made, before the request is
// written: it stops itself with SIGSTOP at the point that undici names `connected`, with a lease
// that ends while it is frozen. Prints what became of the call.
import { subscribe } from 'node:diagnostics_channel';
import { env, hrtime, kill, pid, stdout } from 'node:process';
import { systemClock } from '../../src/clock.ts';
import type { SessionId } from '../../src/core/ids.ts';
import { createAnthropicModel } from '../../src/model/anthropic.ts';
import { HeldSession } from '../../src/kernel/turn/held-session.ts';
import { TurnStopped } from '../../src/kernel/turn/turn-stop.ts';
import { request } from './build-request.ts';

/** The duration of the lease from the time at which the process is frozen, in milliseconds. */
const LEASE_MS = 50;

/** The clock of the lease stands until then. */
let frozenAtMs: number | null = null;
const clock = { monotonicMs: () => (frozenAtMs === null ? 0 : systemClock.monotonicMs() - frozenAtMs) };
const held = new HeldSession({ sessionId: '1' as SessionId, epoch: 1, clock, leaseMs: LEASE_MS, askedAtMs: 0 });
let checks = 0;

subscribe('undici:client:connected', () => {
  frozenAtMs = systemClock.monotonicMs();
  // All processes of a machine share this clock.
  stdout.write(`${JSON.stringify({ leaseEndsNs: String(hrtime.bigint() + BigInt(LEASE_MS) * 1_000_000n) })}\n`);
  kill(pid, 'SIGSTOP');
});

const model = createAnthropicModel({
  apiKey: 'any',
  baseUrl: env['MODEL_URL'] ?? '',
  isStreaming: env['IS_STREAMING'] === 'true',
});
const outcome = await model
  .ask(request(['x']), {
    signal: held.signal,
    headers: {},
    beforeSend() {
      checks += 1;
      held.assertHeld();
    },
  })
  .then(
    () => 'answered',
    (error: unknown) => (error instanceof TurnStopped ? error.reason.kind : String(error)),
  );
stdout.write(`${JSON.stringify({ outcome, checks })}\n`);
