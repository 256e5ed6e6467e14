// Names of models. People write `provider/model`; a request has the two apart, and names only a provider that is not the default one.
//
// A turn may ask several models, in order: the one that it was opened with, then its agent's fallbacks. A turn that steps down continues with
// the next one after its last committed step, and stays there; the next turn begins with the first again.
import type { ModelRequest } from './model-request.ts';

/** The provider of requests that name none. */
export const DEFAULT_PROVIDER = 'anthropic';

export type NamedModel = Pick<ModelRequest, 'provider' | 'model' | 'key'>;

/** The model that a request names, whatever key it uses. */
export function namedModel({ provider, model }: NamedModel): NamedModel {
  return provider === undefined ? { model } : { provider, model };
}

export function modelOfRef(ref: string): NamedModel {
  const slash = ref.indexOf('/');
  const provider = ref.slice(0, slash);
  const model = ref.slice(slash + 1);
  return provider === DEFAULT_PROVIDER ? { model } : { provider, model };
}

export function providerOf({ provider = DEFAULT_PROVIDER }: Pick<NamedModel, 'provider'>): string {
  return provider;
}

/** `provider/model` of the model that a request names. */
export function refOfModel({ provider = DEFAULT_PROVIDER, model }: NamedModel): string {
  return `${provider}/${model}`;
}

/** The name that identifies a model in a transcript: without its provider if that is the default one. */
export function modelName(named: NamedModel): string {
  return named.provider === undefined ? named.model : refOfModel(named);
}

/** Faults by which a model refuses what another model may answer. */
const REFUSALS_OF_A_MODEL: ReadonlySet<string> = new Set(['model_not_found', 'model_billing', 'model_spend_limit']);

/** True when another model may answer a request that was refused with this code. Outages are judged by `classifyOutage`. */
export function mayAnotherAnswer(code: string): boolean {
  return REFUSALS_OF_A_MODEL.has(code);
}

/** The models of a turn as `provider/model`, each once, the one that it was opened with first; those that no provider serves are left out. */
export function modelChain(
  opened: NamedModel,
  { fallbacks, providers }: { fallbacks: readonly (string | null)[]; providers: readonly string[] },
): string[] {
  const served = fallbacks.filter(
    (ref): ref is string => ref !== null && providers.some((provider) => ref.startsWith(`${provider}/`)),
  );
  return [...new Set([refOfModel(opened), ...served])];
}

/** The models that come after the one that is asked now; all of them when that is no longer in the chain. */
export function modelsAfter(chain: readonly string[], current: NamedModel): readonly string[] {
  return chain.slice(chain.indexOf(refOfModel(current)) + 1);
}
