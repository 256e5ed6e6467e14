// The models that the server lists. It accepts any other name too.
import { KNOWN_MODELS } from '../src/core/models.ts';

const MODELS = [...Object.keys(KNOWN_MODELS), 'scripted-1'];

/** The models, with the fields of Anthropic's list and those of OpenAI's. */
export function modelList(): unknown {
  const created = { created_at: '2025-09-29T00:00:00Z', created: 1_759_104_000 };
  const data = MODELS.map((id) => ({
    type: 'model',
    id,
    display_name: id,
    ...created,
    object: 'model',
    owned_by: 'system',
  }));
  return { object: 'list', data, has_more: false, first_id: MODELS[0], last_id: MODELS.at(-1) };
}

/** As Gemini lists them. */
export function geminiModelList(contextTokens: number): unknown {
  const models = MODELS.map((id) => ({
    name: `models/${id}`,
    version: '1',
    displayName: id,
    inputTokenLimit: contextTokens,
    outputTokenLimit: 64_000,
    supportedGenerationMethods: ['generateContent'],
    thinking: true,
  }));
  return { models };
}
