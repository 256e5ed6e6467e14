// Checks `thinking` and `output_config.effort` of a request as the Messages API does: which type of
// thinking is accepted depends on the model. Unknown models accept any.
import { knownModel, thinkingFormOf, type ThinkingForm } from '../src/core/models.ts';
import { invalidRequest } from './provider-error.ts';
import { isRecord } from './wire.ts';

const THINKING_BUDGET_MIN = 1024;
const THINKING_FIELDS: Readonly<Record<string, readonly string[]>> = {
  enabled: ['type', 'budget_tokens', 'display'],
  adaptive: ['type', 'display'],
  between_tools: ['type'],
  disabled: ['type'],
};
const DISPLAYS: readonly unknown[] = ['summarized', 'omitted', null, undefined];
const EFFORTS: readonly unknown[] = ['low', 'medium', 'high', 'xhigh', 'max', null, undefined];

/** Throws `ProviderError` 400 with the API's message at the first thing the API would refuse. */
export function checkThinking(request: Record<string, unknown>): void {
  const effort = effortOf(request['output_config']);
  const { thinking } = request;
  const model = String(request['model']);
  const form = knownModel(model) === undefined ? null : thinkingFormOf(model);
  if (form?.kind === 'budget' && effort !== null && !model.startsWith('claude-opus-4-5')) {
    throw invalidRequest('This model does not support the effort parameter.');
  }
  if (effort === 'xhigh' && form?.kind === 'adaptive' && !form.takesXhigh) {
    throw invalidRequest("output_config.effort: Input should be 'low', 'medium', 'high' or 'max'");
  }
  if (thinking === undefined) return;
  if (!isRecord(thinking)) throw invalidRequest('thinking: Input should be an object');
  const type = String(thinking['type']);
  checkFields(type, thinking);
  if (form !== null) checkType(type, form, effort);
  if (type === 'enabled') checkBudget(thinking['budget_tokens'], request['max_tokens']);
}

function effortOf(outputConfig: unknown): string | null {
  if (outputConfig === undefined) return null;
  if (!isRecord(outputConfig)) throw invalidRequest('output_config: Input should be an object');
  const { effort } = outputConfig;
  if (!EFFORTS.includes(effort)) {
    throw invalidRequest("output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh' or 'max'");
  }
  return typeof effort === 'string' ? effort : null;
}

function checkFields(type: string, thinking: Record<string, unknown>): void {
  const fields = THINKING_FIELDS[type];
  if (fields === undefined) {
    const known = Object.keys(THINKING_FIELDS).map((name) => `'${name}'`);
    throw invalidRequest(
      `thinking: Input tag '${type}' found using 'type' does not match any of the expected tags: ${known.join(', ')}`,
    );
  }
  for (const field of Object.keys(thinking)) {
    if (!fields.includes(field)) throw invalidRequest(`thinking.${type}.${field}: Extra inputs are not permitted`);
  }
  if (!DISPLAYS.includes(thinking['display'])) {
    throw invalidRequest(`thinking.${type}.display: Input should be 'summarized' or 'omitted'`);
  }
}

function checkType(type: string, form: ThinkingForm, effort: string | null): void {
  if (type === 'adaptive' && form.kind === 'budget')
    throw invalidRequest('adaptive thinking is not supported on this model');
  const whenOff = form.kind === 'budget' ? 'absent' : form.whenOff;
  if (type === 'between_tools' && whenOff !== 'between_tools') {
    throw invalidRequest('"thinking.type.between_tools" is not supported for this model.');
  }
  const takesBudget = form.kind === 'budget' || !form.takesXhigh;
  const takesDisabled = whenOff === 'absent' || whenOff === 'disabled';
  if ((type === 'enabled' && !takesBudget) || (type === 'disabled' && !takesDisabled)) {
    throw invalidRequest(
      `"thinking.type.${type}" is not supported for this model. Use "thinking.type.adaptive" and "output_config.effort" to control thinking behavior.`,
    );
  }
  const isOff = type === 'between_tools' || (type === 'disabled' && whenOff === 'disabled');
  if (isOff && (effort === 'xhigh' || effort === 'max')) {
    throw invalidRequest(
      `output_config.effort '${effort}' is not supported when thinking is disabled on this model. Use effort 'high' or below, or enable thinking.`,
    );
  }
}

function checkBudget(budget: unknown, maxTokens: unknown): void {
  if (!Number.isInteger(budget)) throw invalidRequest('thinking.enabled.budget_tokens: Field required');
  if (Number(budget) < THINKING_BUDGET_MIN) {
    throw invalidRequest(
      `thinking.enabled.budget_tokens: Input should be greater than or equal to ${THINKING_BUDGET_MIN}`,
    );
  }
  if (Number(budget) >= Number(maxTokens)) {
    throw invalidRequest('`max_tokens` must be greater than `thinking.budget_tokens`.');
  }
}
