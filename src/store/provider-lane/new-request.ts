// A model call as the park of its turn stores it.
/** A model call that goes through a batch of the provider. */
export interface NewProviderRequest {
  callNo: number;
  /** The model as the provider names it. */
  model: string;
  batchId: string | null;
  /** The body of the call, compressed. */
  params: Buffer;
  paramsBytes: number;
  paramsSha256: string;
  /** Until then it may wait. */
  leaveAt: Date;
  /** What happens to it afterwards. */
  fallback: 'live' | 'fail';
}
