// Reads the body of a request.
import type http from 'node:http';
import { invalidRequest, ProviderError } from './provider-error.ts';

/** The whole body; null when the caller hung up. Throws `ProviderError` 413 over the limit. */
export function readBody(request: http.IncomingMessage, bytesMax: number): Promise<Buffer | null> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes <= bytesMax) chunks.push(chunk);
    });
    request.on('end', () => {
      if (bytes > bytesMax) reject(new ProviderError({ status: 413, message: 'Request exceeds the maximum size' }));
      else resolve(Buffer.concat(chunks, bytes));
    });
    request.on('error', () => resolve(null));
    request.on('close', () => resolve(null));
  });
}

/** Throws `ProviderError` 400. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (cause) {
    throw invalidRequest(`The request body is not valid JSON: ${cause instanceof Error ? cause.message : 'unknown'}`);
  }
}
