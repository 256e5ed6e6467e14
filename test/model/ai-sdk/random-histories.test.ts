// Goal: no history is refused by a provider, whatever faults it has and whichever model wrote it.
// Method: random histories (2,000 in the full form) pass through the rules of each family and the
// provider packages. What would be sent is read by the scripted model, which checks what the APIs
// check.
import { expect, test } from 'vitest';
import { readChat } from '../../../scripted-model/wires/read-chat.ts';
import { readGemini } from '../../../scripted-model/wires/read-gemini.ts';
import { readResponses } from '../../../scripted-model/wires/read-responses.ts';
import type { ContentBlock } from '../../../src/core/content.ts';
import { createRequestCheck } from '../../../src/history/check-request.ts';
import type { ProviderFamily } from '../../../src/history/provider-family.ts';
import { viewMessages, type ViewEntry } from '../../../src/history/past.ts';
import { createAiSdkTransport, type AiSdkOptions } from '../../../src/model/ai-sdk/create-transport.ts';
import { isFullForm, isLongForm } from '../../servers/test-form.ts';
import { request } from '../build-request.ts';
import { createDice, entriesOf, IMAGE, pick, type Dice } from '../random-histories.ts';

const HISTORIES = isFullForm() ? 2_000 : isLongForm() ? 300 : 40;

const WIRES = [
  {
    api: 'openai',
    model: 'gpt-5',
    family: 'openai',
    read: (body: unknown) => readResponses(body, { organisation: 'key' }),
  },
  {
    api: 'xai',
    model: 'grok-4',
    family: 'openai',
    read: (body: unknown) => readResponses(body, { organisation: 'key' }),
  },
  { api: 'openai-chat', model: 'gpt-5', family: 'openai', read: readChat },
  { api: 'openai-compatible', model: 'mistral-large', family: 'mistral', read: readChat },
  {
    api: 'google',
    model: 'gemini-3-pro',
    family: 'google',
    read: (body: unknown) => readGemini(body, { body, organisation: 'key', model: 'gemini-3-pro', isStream: true }),
  },
  {
    api: 'google',
    model: 'gemini-2.5-flash',
    family: 'google',
    read: (body: unknown) => readGemini(body, { body, organisation: 'key', model: 'gemini-2.5-flash', isStream: true }),
  },
] as const satisfies readonly {
  api: AiSdkOptions['api'];
  model: string;
  family: ProviderFamily;
  read: (body: unknown) => unknown;
}[];

/** Blocks of other models, some with what those need back. */
function withOrigins(entries: readonly ViewEntry[], dice: Dice): ViewEntry[] {
  const provider = pick(dice, ['openai', 'google', 'xai']);
  const metadata = { openai: { itemId: 'rs_1', reasoningEncryptedContent: 'x' }, google: { thoughtSignature: 'x' } };
  const change = (block: ContentBlock): ContentBlock =>
    dice(2) === 0 || !['text', 'thinking', 'tool_use'].includes(block.type)
      ? block
      : ({ ...block, origin: { provider, model: 'another', metadata } } as ContentBlock);
  return entries.map((entry) =>
    entry.role === 'assistant' ? { ...entry, content: entry.content.map(change) } : entry,
  );
}

/** What a transport would send for a request; nothing leaves. */
async function bodyOf(options: AiSdkOptions, asked: ReturnType<typeof request>): Promise<unknown> {
  let body = '';
  const onSent = (sent: string | Uint8Array): void => {
    body = Buffer.from(sent).toString();
    throw new Error('held back');
  };
  const nothing = { onWrite: () => undefined, onBytes: () => undefined, onEvent: () => false };
  const call = { request: asked, headers: {}, signal: new AbortController().signal, onSent, ...nothing };
  await createAiSdkTransport(options)
    .send(call)
    .catch((error: Error) => expect(error.message).toContain('held back'));
  return JSON.parse(body);
}

test.each(WIRES)(
  'any history is accepted by the api $api ($model, family $family)',
  async ({ api, model, family, read }) => {
    const options: AiSdkOptions = { provider: 'other', api, family, apiKey: 'key', baseUrl: 'http://127.0.0.1:9' };
    for (let seed = 1; seed <= HISTORIES; seed += 1) {
      const dice = createDice(seed);
      const entries = withOrigins(entriesOf(dice), dice);
      const view = { family, models: [{ seq: 1, model: pick(dice, ['other/another', `other/${model}`]) }] };
      const rules = { view, promptSeq: entries.length, model: `other/${model}`, injected: [], imageOf: () => IMAGE };
      const { messages } = viewMessages(entries, rules, null);
      expect(createRequestCheck(family)(messages)).toEqual([]);
      const body = await bodyOf(options, request([...messages], { provider: 'other', model }));
      try {
        read(body);
      } catch (error) {
        throw new Error(`History ${seed}: ${String(error)}\n${JSON.stringify(body, null, 1)}`, { cause: error });
      }
    }
  },
);
