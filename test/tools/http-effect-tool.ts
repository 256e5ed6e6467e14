// A tool whose effect can be counted from outside: each run is one POST to a server of the test.
// Crash tests load this module as a plugin into real worker processes; `HTTP_EFFECT_URL` names the
// server.
import { z } from 'zod';
import { defineTool } from '../../src/tools/define-tool.ts';
import type { Tool } from '../../src/tools/tool.ts';

export interface HttpEffectOptions {
  url: string;
  /** The tool's declaration; its behaviour is the same either way. */
  isIdempotent: boolean;
  name?: string;
}

/** The body of each POST. */
export interface HttpEffect {
  /** The model's name for this effect. */
  key: string;
  idempotencyKey: string;
  callId: string;
  turnId: string;
  sessionKey: string;
}

/**
 * POSTs an `HttpEffect` and returns the text of the response, as an error when its status is not
 * 2xx. The server decides how long it takes.
 */
export function createHttpEffectTool({ url, isIdempotent, name = 'http_effect' }: HttpEffectOptions): Tool {
  return defineTool({
    name,
    description: 'Cause one effect that is counted.',
    summary: 'Cause one effect that is counted',
    input: z.strictObject({ key: z.string() }),
    isIdempotent,
    isReadOnly: false,
    async run({ key }, { idempotencyKey, callId, turnId, sessionKey, signal }) {
      const effect: HttpEffect = { key, idempotencyKey, callId, turnId, sessionKey };
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': idempotencyKey },
        body: JSON.stringify(effect),
        signal,
      });
      return { content: await response.text(), isError: !response.ok };
    },
  });
}

/**
 * Called when this module is loaded as a plugin: `http_effect`, and `http_effect_idempotent` that
 * declares itself so.
 */
export function createTools(): Tool[] {
  const url = process.env['HTTP_EFFECT_URL'];
  if (url === undefined) throw new Error('HTTP_EFFECT_URL is not set');
  return [
    createHttpEffectTool({ url, isIdempotent: false }),
    createHttpEffectTool({ url, isIdempotent: true, name: 'http_effect_idempotent' }),
  ];
}
