// Admission: how many requests, and how many bytes of bodies, may be in flight. A request over the limit is refused before
// it is read, with a Retry-After time (G27, G28). Streams and waits do not count while they only wait.
import type { FastifyRequest } from 'fastify';
import { overloaded } from './problem.ts';

export interface AdmissionBounds {
  requestsMax: number;
  bodyBytesMax: number;
  /** The size that is assumed for a body without a length. */
  unknownBodyBytes: number;
}

export class Admission {
  readonly #bounds: AdmissionBounds;
  readonly #inside = new Map<FastifyRequest, number>();
  #bodyBytes = 0;

  constructor(bounds: AdmissionBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#inside.size;
  }

  /** Lets a request in or throws 503. */
  enter(request: FastifyRequest): void {
    const bytes = this.#bytesOf(request);
    if (this.#inside.size >= this.#bounds.requestsMax || this.#bodyBytes + bytes > this.#bounds.bodyBytesMax) {
      throw overloaded('Too many requests are in flight. This one was not processed; send it again later.');
    }
    this.#inside.set(request, bytes);
    this.#bodyBytes += bytes;
  }

  /** Lets it out; false when it was out already. */
  leave(request: FastifyRequest): boolean {
    const bytes = this.#inside.get(request);
    if (bytes === undefined) return false;
    this.#inside.delete(request);
    this.#bodyBytes -= bytes;
    return true;
  }

  #bytesOf(request: FastifyRequest): number {
    const length = request.headers['content-length'];
    if (length !== undefined) return Math.min(Number(length) || 0, this.#bounds.unknownBodyBytes);
    return request.headers['transfer-encoding'] === undefined ? 0 : this.#bounds.unknownBodyBytes;
  }
}
