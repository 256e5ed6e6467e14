// Names of models. People write `provider/model`; a request has the two apart, and names only a provider that is not the default one.
import type { ModelRequest } from './model-request.ts';

/** The provider of requests that name none. */
export const DEFAULT_PROVIDER = 'anthropic';

/** A model as a request names it. */
export type NamedModel = Pick<ModelRequest, 'provider' | 'model'>;

/** The model that `provider/model` names, as a request names it. */
export function modelOfRef(ref: string): NamedModel {
  const slash = ref.indexOf('/');
  const provider = ref.slice(0, slash);
  const model = ref.slice(slash + 1);
  return provider === DEFAULT_PROVIDER ? { model } : { provider, model };
}

/** The provider of a model that a request names. */
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
