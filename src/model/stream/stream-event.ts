// The events of one streamed answer, in the format of the Messages API. The reducer receives these
// from every transport; an answer that was not streamed is converted into the same events. Only the
// shape of an event is checked here: each field is checked again where it is used.
import type { BlockOrigin } from '../../core/content.ts';
import { isObject } from '../../core/json.ts';
import { cutHead } from '../../core/text.ts';
import { textIn } from './tidy/tidier.ts';

/** Why a stream makes no answer. */
export class StreamFault extends Error {
  readonly code = 'stream_fault';
  /** `malformed_stream`, or the type that an error event names (`overloaded_error`). */
  readonly type: string;
  /** The finer code of an error event, where it has one. */
  readonly errorCode: string | null;

  constructor(type: string, message: string, more: { errorCode?: string | null; cause?: unknown } = {}) {
    super(message, { cause: more.cause });
    this.name = 'StreamFault';
    this.type = type;
    this.errorCode = more.errorCode ?? null;
  }
}

/** The start of a block. It includes the content so far, which is usually empty in a stream. */
export interface BlockStart {
  type: string;
  id?: unknown;
  name?: unknown;
  input?: unknown;
  text?: string;
  thinking?: string;
  signature?: string;
  data?: string;
}

/** An event; of types that are not known here only the type matters. */
export interface StreamEvent {
  type: string;
  index?: number;
  /** `usage` is read by `usageAfter`, which trusts nothing of it. */
  message?: { id: string; model: string; usage?: unknown };
  content_block?: BlockStart;
  delta?: {
    /** Absent in a message_delta. */
    type?: string;
    text?: string;
    partial_json?: string;
    thinking?: string;
    signature?: string;
    /** In an `origin_delta`: the origin of the block, which replaces an earlier one. */
    origin?: BlockOrigin;
    stop_reason?: string | null;
  };
  usage?: unknown;
  error?: { type?: string; message?: string; details?: { error_code?: string } | null };
}

/**
 * A value that was received as an event. Throws `StreamFault` `malformed_stream` when it has no
 * type.
 */
export function asStreamEvent(event: unknown): StreamEvent {
  if (typeof event !== 'object' || event === null || !('type' in event) || typeof event.type !== 'string') {
    throw malformed(`An event of the stream has no type: ${cutHead(JSON.stringify(event) ?? 'nothing', 200)}`);
  }
  return event as StreamEvent;
}

/**
 * The events of an answer that came as one body: the same as if it had been streamed, each block in
 * its start.
 */
export function eventsOfBody(body: unknown): StreamEvent[] {
  if (!isBody(body)) throw malformed(`The answer is not a message: ${cutHead(JSON.stringify(body) ?? 'nothing', 200)}`);
  const { content, stop_reason: stopReason, usage } = body;
  const [id, model] = [textIn(body.id) ?? '', textIn(body.model) ?? ''];
  const list: unknown[] = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
  const blocks = list.filter(isObject).flatMap((block, index): StreamEvent[] => [
    { type: 'content_block_start', index, content_block: block as unknown as BlockStart },
    { type: 'content_block_stop', index },
  ]);
  return [
    { type: 'message_start', message: { id, model, ...(usage === undefined ? {} : { usage }) } },
    ...blocks,
    { type: 'message_delta', delta: { stop_reason: stopReason ?? null } },
    { type: 'message_stop' },
  ];
}

/** The fault of a stream that breaks its own rules. */
export function malformed(message: string, cause?: unknown): StreamFault {
  return new StreamFault('malformed_stream', message, { cause });
}

/** The fault of a stream that ended before its answer was complete. */
export function cut(message = 'The connection closed before the answer was complete.'): StreamFault {
  return new StreamFault('cut_stream', message);
}

interface MessageBody {
  id?: unknown;
  model?: unknown;
  content: string | unknown[];
  stop_reason?: string | null;
  usage?: unknown;
}

function isBody(body: unknown): body is MessageBody {
  return isObject(body) && (Array.isArray(body['content']) || typeof body['content'] === 'string');
}
