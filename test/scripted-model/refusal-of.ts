import { ProviderError } from '../../scripted-model/provider-error.ts';

/** The error with which a request is refused; fails the test if it is accepted. */
export function refusalOf(read: () => unknown): ProviderError {
  try {
    read();
  } catch (error) {
    if (error instanceof ProviderError) return error;
  }
  throw new Error('The request was accepted.');
}
