// Goal: an answer that arrived is an answer, whatever else is odd in its stream, and a stream that
// is cut is none (G12, G43). Method: streams of each wire with one field absent, null, of another
// type, doubled or huge, some of them cut anywhere, through the transports that turns use. In the
// long form 3,000 of each wire or more, for a minute; `HOLDFAST_SEED` repeats a run.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { joinText, listToolUses } from '../../src/core/content.ts';
import { isObject } from '../../src/core/json.ts';
import type { ModelAnswer } from '../../src/core/model-request.ts';
import { createRequestCheck } from '../../src/history/check-request.ts';
import { createHistory } from '../../src/history/prepare-history.ts';
import { createAiSdkTransport } from '../../src/model/ai-sdk/create-transport.ts';
import { createAnthropicTransport } from '../../src/model/anthropic.ts';
import { createModel } from '../../src/model/create-model.ts';
import { ModelError, type Model } from '../../src/model/model.ts';
import { randomOf, seedOfRun } from '../crash/rig/random-of.ts';
import { isLongForm } from '../servers/test-form.ts';
import { assistant, request, results, user } from './build-request.ts';
import { oddStream, type OddStream, type WireName } from './odd-streams.ts';
import { startProviderServer, type ProviderServer } from './provider-server.ts';

const SEED = seedOfRun();
/** Of each wire. */
const STREAMS = isLongForm() ? 3_000 : 150;
/** The least time for each wire. */
const MS_MIN = isLongForm() ? 10_000 : 0;

let server: ProviderServer;
let models: Record<string, Model>;

beforeAll(async () => {
  server = await startProviderServer();
  const common = { provider: 'other', apiKey: 'key', baseUrl: server.url };
  const of = (transport: ReturnType<typeof createAiSdkTransport>) => createModel({ transports: [transport] });
  models = {
    messages: of(createAnthropicTransport(common)),
    responses: of(createAiSdkTransport({ ...common, api: 'openai' })),
    xai: of(createAiSdkTransport({ ...common, api: 'xai' })),
    chat: of(createAiSdkTransport({ ...common, api: 'openai-compatible' })),
    'openai-chat': of(createAiSdkTransport({ ...common, api: 'openai-chat' })),
    gemini: of(createAiSdkTransport({ ...common, api: 'google' })),
  };
});
afterAll(() => server.close());

const TOOLS = [{ name: 'read', description: 'A tool.', input_schema: { type: 'object' as const } }];

async function outcomeOf(model: Model, { body, ending }: OddStream): Promise<ModelAnswer | ModelError> {
  server.replies = [{ body, headers: { 'content-type': 'text/event-stream' }, ...(ending ? { ending } : {}) }];
  const asked = request(['hi'], { provider: 'other', model: 'm', tools: TOOLS, maxTokens: 8_000 });
  try {
    return await model.ask(asked, { signal: AbortSignal.timeout(20_000), headers: {} });
  } catch (error) {
    if (error instanceof ModelError) return error;
    throw error;
  }
}

/** What is wrong with the outcome; null: nothing. */
function faultOf({ gives, pieces, inputs }: OddStream, outcome: ModelAnswer | ModelError): string | null {
  if (outcome instanceof ModelError)
    return gives === 'answer' ? `thrown away: ${outcome.type} ${outcome.message}` : null;
  if (gives === 'none') return 'a cut stream was taken for an answer';
  const text = joinText(outcome.content);
  const missing = pieces.find((piece) => !text.includes(piece));
  if (missing !== undefined) return `without ${missing}: ${text.slice(0, 300)}`;
  const { malformedInputs = {}, content } = outcome;
  const runnable = listToolUses(content).filter(({ id }) => !Object.hasOwn(malformedInputs, id));
  const numbers = runnable.flatMap(({ input }) => (isObject(input) && 'n' in input ? [input['n']] : []));
  if (new Set(numbers).size < numbers.length) return `a call twice: ${JSON.stringify(runnable).slice(0, 300)}`;
  for (const input of inputs) {
    if (!runnable.some((call) => JSON.stringify(call.input) === JSON.stringify(input)))
      return `without the call ${JSON.stringify(input)}: ${JSON.stringify(content).slice(0, 300)}`;
  }
  const said = [user('hi'), assistant(...content), listToolUses(content).length > 0 ? results(outcome) : user('on')];
  const { messages } = createHistory(said.map((message, at) => ({ ...message, seq: at + 1 })));
  const violations = createRequestCheck('anthropic')(messages);
  return violations.length === 0 ? null : `cannot go on: ${JSON.stringify(violations)}`;
}

const SENT_AS: Record<string, WireName> = { xai: 'responses', 'openai-chat': 'chat' };

test.each(['messages', 'responses', 'xai', 'chat', 'openai-chat', 'gemini'])(
  'odd streams of %s cost only what is odd in them, and cut ones are no answers (G12, G43)',
  async (name) => {
    const random = randomOf(SEED);
    const endMs = performance.now() + MS_MIN;
    const faults: string[] = [];
    let count = 0;
    for (; count < STREAMS || performance.now() < endMs; count += 1) {
      const stream = oddStream(SENT_AS[name] ?? (name as WireName), random);
      const fault = faultOf(stream, await outcomeOf(models[name]!, stream));
      if (fault !== null) faults.push(`${stream.about}: ${fault}`);
    }
    expect(faults, `HOLDFAST_SEED=${SEED}, ${count} streams`).toEqual([]);
  },
);
