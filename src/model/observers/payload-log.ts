// The payload log: every request as it was sent and every answer as it was read, to find out what a model received. Off unless it is
// configured; without secrets and images (`redact.ts`); it never makes a call wait.
import { JsonlFile, type JsonlFileOptions } from './jsonl-file.ts';
import type { CallResult, ModelObserver } from './observer.ts';
import { createRedaction } from './redact.ts';

/** The size from which a new file is begun; with the one before it, twice as much is on disk (G28). */
const FILE_BYTES_MAX = 256 * 1024 * 1024;

export interface PayloadLogOptions extends Pick<JsonlFileOptions, 'path' | 'onFault'> {
  /** Values that must not be written, see `secretsOf`. */
  secrets: readonly string[];
  now: () => Date;
}

/** An observer that writes one line per call: `{at, callId, sessionKey, turnId, transport, request, answer | error}`. */
export function createPayloadLog({ path, onFault, secrets, now }: PayloadLogOptions): ModelObserver {
  const file = new JsonlFile({ path, bytesMax: FILE_BYTES_MAX, onFault });
  const redact = createRedaction(secrets);
  return {
    name: 'payload-log',
    watch({ transport, about }) {
      const at = now().toISOString();
      let body: string | Uint8Array = '';
      return {
        sent(sent) {
          body = sent;
        },
        ended(end) {
          const endedAt = now().toISOString();
          file.add(() => ({
            at,
            endedAt,
            ...about,
            transport,
            request: redact(body.length === 0 ? null : JSON.parse(Buffer.from(body).toString())),
            ...(redact(describeOutcome(end)) as object),
          }));
        },
      };
    },
    close: () => file.flush(),
  };
}

function describeOutcome(end: CallResult): object {
  if (end.kind === 'answered') return { answer: end.answer };
  const { error } = end;
  if (!(error instanceof Error)) return { error: String(error) };
  const { name, message } = error;
  return { error: { name, message, ...('type' in error ? { type: error.type } : {}) } };
}
