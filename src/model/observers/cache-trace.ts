// The cache trace: what each request offered to the provider's prompt cache, what was read from it
// and written to it, and where the request first differs from the one before it in its session: the
// place where a prefix was lost. Texts are not in it, only hashes.
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ModelMessage, ModelRequest } from '../../core/model-request.ts';
import { JsonlFile, type JsonlFileOptions } from './jsonl-file.ts';
import type { ModelObserver } from './observer.ts';

const FILE_BYTES_MAX = 64 * 1024 * 1024;
/** How many sessions are remembered, each with its last request. */
const SESSIONS_MAX = 500;

/**
 * A part of a request in the order of the prefix: tools, the blocks of the system prompt, messages.
 */
interface Part {
  name: string;
  chars: number;
  sha: string;
}

/**
 * An observer that writes one line per call: `{at, callId, sessionKey, turnId, parts, firstChange,
 * read, written, uncached, output}`, tokens for the last four. `firstChange` is the first part that
 * is not as in the request before (null: it only grew; absent: there was none). `parts` names tools
 * and system prompt each, and the messages together.
 */
export function createCacheTrace({
  path,
  onFault,
  now,
}: Pick<JsonlFileOptions, 'path' | 'onFault'> & { now: () => Date }): ModelObserver {
  const file = new JsonlFile({ path, bytesMax: FILE_BYTES_MAX, onFault });
  const last = new LRUCache<string, Part[]>({ max: SESSIONS_MAX });
  return {
    name: 'cache-trace',
    watch({ request, transport, about }) {
      const at = now().toISOString();
      const parts = hashParts(request);
      const session = about?.sessionKey ?? '';
      const before = last.get(session);
      last.set(session, parts);
      const change = before === undefined ? {} : { firstChange: findFirstChange(before, parts) };
      return {
        ended(end) {
          const usage = end.kind === 'answered' ? end.answer.usage : null;
          file.add(() => ({
            at,
            ...about,
            transport,
            parts: summariseParts(parts),
            ...change,
            ...(usage && {
              read: usage.cacheReadTokens,
              written: usage.cacheWriteTokens,
              uncached: usage.inputTokens,
              output: usage.outputTokens,
            }),
          }));
        },
      };
    },
    close: () => file.flush(),
  };
}

function hashParts({ tools, system, messages }: ModelRequest): Part[] {
  return [
    { name: 'tools', ...digest(tools) },
    ...system.map((block, at) => ({ name: `system.${at}`, ...digest(block) })),
    ...messages.map((message: ModelMessage, at) => ({ name: `messages.${at}`, ...digest(message) })),
  ];
}

function digest(value: object): Omit<Part, 'name'> {
  const text = JSON.stringify(value);
  return { chars: text.length, sha: hash('sha256', text, 'hex').slice(0, 16) };
}

function findFirstChange(before: readonly Part[], now: readonly Part[]): string | null {
  const at = before.findIndex((part, index) => part.name !== now[index]?.name || part.sha !== now[index].sha);
  return before[at]?.name ?? null;
}

function summariseParts(parts: readonly Part[]): object[] {
  const messages = parts.filter(({ name }) => name.startsWith('messages.'));
  const chars = messages.reduce((sum, part) => sum + part.chars, 0);
  const others = parts.filter(({ name }) => !name.startsWith('messages.'));
  return [...others, { name: 'messages', count: messages.length, chars }];
}
