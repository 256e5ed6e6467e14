// Writes an answer as the Messages API does: as a stream of events, or as one JSON body. Broken answers (cut, silent, malformed)
// are broken here. Without a delay between events, the whole stream is one write.
import type { ServerResponse } from 'node:http';
import type { AnswerBlock, ComposedAnswer } from './compose-answer.ts';
import { errorBody, messageOfStatus, ProviderError } from './provider-error.ts';
import type { ScriptFault } from './parse-script.ts';

/** A text is sent in pieces of this many characters, and in at most this many pieces. */
const PIECE_CHARS = 40;
const PIECES_MAX = 32;

/** The error that a script asks for. */
export function scriptedError(fault: ScriptFault & { kind: 'error' }): ProviderError {
  return new ProviderError({
    status: fault.status,
    message: fault.message ?? messageOfStatus(fault.status),
    ...(fault.type === null ? undefined : { type: fault.type }),
    errorCode: fault.errorCode,
    retryAfter: fault.retryAfter,
  });
}

/**
 * Streams an answer into a response that has sent nothing yet. Resolves when everything that the script wants is sent: for a
 * stalled stream that is before its end. Stops without an error when the caller hangs up.
 */
export async function streamAnswer(response: ServerResponse, answer: ComposedAnswer, requestId: string): Promise<void> {
  const { slowMs } = answer;
  // Faults of message batches are for requests of a batch.
  const fault = answer.fault?.kind === 'batch' ? null : answer.fault;
  if (fault?.kind === 'cut' && fault.after === 0) {
    response.destroy();
    return;
  }
  const frames = framesOf(answer);
  const sent = fault ? frames.slice(0, fault.after ?? 0) : frames;
  if (fault?.kind === 'error') sent.push(frameOf('error', errorBody(scriptedError(fault), requestId)));
  const isWhole = !fault || fault.kind === 'error';
  const headers = {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'request-id': requestId,
  };
  if (slowMs === 0 && isWhole) {
    const body = sent.join('');
    response.writeHead(200, { ...headers, 'content-length': Buffer.byteLength(body) }).end(body);
    return;
  }
  response.writeHead(200, headers);
  response.flushHeaders();
  for (const frame of slowMs === 0 ? [sent.join('')] : sent) {
    await written(response, frame);
    if (slowMs > 0) await pause(response, slowMs);
    if (response.destroyed) return;
  }
  if (isWhole) response.end();
  // The socket, so that the stream breaks instead of ending.
  else if (fault.kind === 'cut') response.destroy();
}

/** The answer as the body of a call without streaming. */
export function messageBody(answer: ComposedAnswer): string {
  const content = answer.blocks.map((block) => {
    if (block.type !== 'tool_use') return block;
    const { inputJson, ...call } = block;
    return { ...call, input: inputOf(inputJson) };
  });
  return JSON.stringify({
    ...startOf(answer),
    content,
    stop_reason: answer.stopReason,
    usage: answer.usage,
  });
}

/** Arguments that are not JSON stay text, as models without a stream send them. */
function inputOf(inputJson: string): unknown {
  try {
    return JSON.parse(inputJson) as unknown;
  } catch {
    return inputJson;
  }
}

/** Waits, but only until the caller disconnects or the server closes. */
export function pause(response: ServerResponse, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      response.off('close', end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    response.on('close', end);
  });
}

function written(response: ServerResponse, data: string): Promise<void> {
  return new Promise((resolve) => {
    if (data === '' || response.destroyed) resolve();
    else response.write(data, () => resolve());
  });
}

function framesOf(answer: ComposedAnswer): string[] {
  const start = {
    type: 'message_start',
    message: { ...startOf(answer), usage: { ...answer.usage, output_tokens: 1 } },
  };
  const frames = [frameOf('message_start', JSON.stringify(start))];
  if (answer.malformed === 'stream') {
    frames.push(frameOf('content_block_delta', '{"type":"content_block_delta","index":0,"delta":{"type":"text_de'));
    return frames;
  }
  for (const [index, block] of answer.blocks.entries()) {
    frames.push(blockStart(index, block));
    if (index === 0) frames.push('event: ping\ndata: {"type":"ping"}\n\n');
    for (const delta of deltasOf(block, answer.malformed === 'input')) {
      frames.push(frameOf('content_block_delta', `{"type":"content_block_delta","index":${index},"delta":${delta}}`));
    }
    frames.push(frameOf('content_block_stop', `{"type":"content_block_stop","index":${index}}`));
  }
  const end = {
    type: 'message_delta',
    delta: { stop_reason: answer.stopReason, stop_sequence: null },
    usage: answer.usage,
  };
  frames.push(frameOf('message_delta', JSON.stringify(end)), 'event: message_stop\ndata: {"type":"message_stop"}\n\n');
  return frames;
}

function startOf(answer: ComposedAnswer): Record<string, unknown> {
  const { id, model } = answer;
  return { id, type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null };
}

function frameOf(event: string, data: string): string {
  return `event: ${event}\ndata: ${data}\n\n`;
}

function blockStart(index: number, block: AnswerBlock): string {
  return frameOf(
    'content_block_start',
    JSON.stringify({ type: 'content_block_start', index, content_block: beginningOf(block) }),
  );
}

function beginningOf(block: AnswerBlock): Record<string, unknown> {
  switch (block.type) {
    case 'text':
      return { type: 'text', text: '' };
    case 'thinking':
      return { type: 'thinking', thinking: '', signature: '' };
    case 'redacted_thinking':
      return { type: 'redacted_thinking', data: block.data };
    case 'tool_use':
      return { type: 'tool_use', id: block.id, name: block.name, input: {} };
  }
}

/** The deltas of a block, each as JSON. */
function deltasOf(block: AnswerBlock, isMalformed: boolean): string[] {
  switch (block.type) {
    case 'text':
      return pieces(block.text).map((text) => `{"type":"text_delta","text":${JSON.stringify(text)}}`);
    case 'thinking':
      return [
        ...pieces(block.thinking).map((thinking) => `{"type":"thinking_delta","thinking":${JSON.stringify(thinking)}}`),
        `{"type":"signature_delta","signature":${JSON.stringify(block.signature)}}`,
      ];
    case 'redacted_thinking':
      return [];
    case 'tool_use': {
      const json = isMalformed ? `${block.inputJson.slice(0, -1)}, "unfinished": "` : block.inputJson;
      return pieces(json).map((part) => `{"type":"input_json_delta","partial_json":${JSON.stringify(part)}}`);
    }
  }
}

function pieces(text: string): string[] {
  const size = Math.max(PIECE_CHARS, Math.ceil(text.length / PIECES_MAX));
  const parts: string[] = [];
  let from = 0;
  while (from < text.length) {
    let to = from + size;
    // Half a surrogate pair has no UTF-8.
    const unit = text.charCodeAt(to - 1);
    if (unit >= 0xd800 && unit <= 0xdbff) to += 1;
    parts.push(text.slice(from, to));
    from = to;
  }
  return parts;
}
