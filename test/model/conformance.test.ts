// Goal: an answer or a failure is the same to a turn whichever API it came through. Method: each
// scenario on each of the four wires, through the transport that turns use, from the scripted
// model, which checks each request as the API does. All are streamed; the Messages API also answers
// in one piece, and the other transports have no such mode: what their clients read from whole
// answers is in test/scripted-model.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startScriptedModel, type ScriptedModel } from '../../scripted-model/scripted-model.ts';
import type { ContentBlock } from '../../src/core/content.ts';
import type { ModelAnswer, ModelMessage } from '../../src/core/model-request.ts';
import { createAiSdkTransport } from '../../src/model/ai-sdk/create-transport.ts';
import { createAnthropicTransport } from '../../src/model/anthropic.ts';
import { createModel } from '../../src/model/create-model.ts';
import type { Model, ModelError } from '../../src/model/model.ts';
import { request, results, user } from './build-request.ts';
import { ANSWERED, FAILED, thinking, WIRES, type Outcome, type Scenario, type Wire } from './conformance-scenarios.ts';

const MODELS: Record<Wire, string> = {
  messages: 'scripted-1',
  whole: 'scripted-1',
  responses: 'gpt-5',
  xai: 'grok-4',
  chat: 'qwen3',
  gemini: 'gemini-3-pro',
  'gemini-2': 'gemini-2.5-flash',
};

const CONTEXT_TOKENS = 20_000;
const STEPS_MAX = 8;
/** More than the longest answer here has. */
const EVENTS_MAX = 24;

let server: ScriptedModel;
let models: Record<Wire, Model>;

beforeAll(async () => {
  server = await startScriptedModel({ contextTokens: CONTEXT_TOKENS });
  const { url } = server;
  const common = { provider: 'other', apiKey: 'team.1' };
  const of = (transport: ReturnType<typeof createAiSdkTransport>) => createModel({ transports: [transport] });
  const gemini = of(createAiSdkTransport({ ...common, api: 'google', baseUrl: `${url}/v1beta` }));
  models = {
    messages: of(createAnthropicTransport({ ...common, baseUrl: url })),
    whole: of(createAnthropicTransport({ ...common, baseUrl: url, isStreaming: false })),
    responses: of(createAiSdkTransport({ ...common, api: 'openai', baseUrl: `${url}/v1` })),
    xai: of(createAiSdkTransport({ ...common, api: 'xai', baseUrl: `${url}/v1` })),
    chat: of(createAiSdkTransport({ ...common, api: 'openai-compatible', baseUrl: `${url}/v1` })),
    gemini,
    'gemini-2': gemini,
  };
});
afterAll(() => server.close());

let turns = 0;
const asking = () => ({ signal: AbortSignal.timeout(20_000), headers: { 'x-holdfast-turn': `t${(turns += 1)}` } });

/** Plays a turn to its end. */
async function play(wire: Wire, { prompt, answers = results, settings = {} }: Scenario): Promise<ModelAnswer[]> {
  const messages: ModelMessage[] = [typeof prompt === 'string' ? user(prompt) : prompt];
  const given: ModelAnswer[] = [];
  const options = asking();
  while (given.length < STEPS_MAX) {
    const answer = await models[wire].ask(
      request(messages, { provider: 'other', model: MODELS[wire], tools: TOOLS, ...settings }),
      options,
    );
    given.push(answer);
    if (answer.stopReason !== 'tool_use') break;
    messages.push({ role: 'assistant', content: answer.content }, answers(answer));
  }
  return given;
}

const TOOLS = ['read', 'exec', 'look'].map((name) => ({
  name,
  description: 'A tool.',
  input_schema: { type: 'object' as const, properties: { path: { type: 'string' } } },
}));

/** An answer in one line: its blocks without what only its provider reads, and why it ended. */
function lineOf({ content, stopReason }: ModelAnswer): string {
  return [...content.map(wordsOf), stopReason].join(' | ');
}

function wordsOf(block: ContentBlock): string {
  switch (block.type) {
    case 'text':
      return short(block.text);
    case 'thinking':
      return `(${short(block.thinking) || 'sealed'})`;
    case 'tool_use':
      return `${block.name} ${short(JSON.stringify(block.input))}`;
    case 'image':
    case 'redacted_thinking':
    case 'tool_result':
      return block.type;
    default:
      return block satisfies never;
  }
}

const short = (text: string) => (text.length > 200 ? `${text.length} characters` : text);

const rowsOf = (scenarios: Record<string, Scenario>, wires: readonly Wire[] = WIRES) =>
  wires.flatMap((wire) => Object.entries(scenarios).map(([name, scenario]) => ({ name, wire, scenario })));

/**
 * Wires that are written by another package, or read in another way, and the wire that they are.
 */
const SAME_AS: Partial<Record<Wire, Wire>> = { xai: 'responses', 'gemini-2': 'gemini', whole: 'messages' };

function expected({ gives, but = {} }: Scenario, wire: Wire): Outcome {
  const outcome = but[wire] ?? but[SAME_AS[wire] ?? wire] ?? gives;
  // The scripted model shows a thought where OpenAI shows one, xAI elsewhere.
  return wire === 'xai' ? (outcome.map(sealed) as Outcome) : outcome;
}

function sealed(part: string | number | null): string | number | null {
  return typeof part === 'string' ? part.replace(/^\(.*?\)/, '(sealed)') : part;
}

async function outcomeOf(wire: Wire, scenario: Scenario): Promise<Outcome> {
  try {
    return (await play(wire, scenario)).map(lineOf);
  } catch (error) {
    const { type, status, retryAfterMs } = error as ModelError;
    return [type, status, retryAfterMs];
  }
}

test.each([...rowsOf(ANSWERED, [...WIRES, 'whole']), ...rowsOf(FAILED)])('$wire: $name', async ({ wire, scenario }) => {
  expect(await outcomeOf(wire, scenario)).toEqual(expected(scenario, wire));
});

describe.each(WIRES)('%s: an answer that is cut', (wire) => {
  const script =
    '[[thinking: hm]] [[reply: One moment.]] [[tool: read {"path": "a"}]] & [[tool: exec {}]] [[reply: done]]';

  test('after any of its events is no answer', async () => {
    let cuts = 0;
    for (let events = 0; events < EVENTS_MAX; events += 1) {
      const scenario = { prompt: `[[cut: after=${events}]] ${script}`, settings: thinking, gives: [] };
      const outcome = await outcomeOf(wire, scenario);
      // All of its events have come.
      if (outcome.length === 2) break;
      // Before any event, the request is not answered.
      expect([events, outcome]).toEqual([events, [events === 0 ? 'network' : 'cut_stream', null, null]]);
      cuts += 1;
    }
    expect(cuts).toBeGreaterThan(4);
  });
});
