// What the provider says of one request of a batch, as `classifyFailure` takes it.

/** The fault of a request that the provider has refused; a batch gives the type of the error and no status. */
export function providerErrorFault(error: { type?: string; message?: string } | null): {
  type: string;
  message: string;
} {
  return {
    type: error?.type ?? 'api_error',
    message: error?.message ?? 'The provider gave no reason.',
  };
}
