// Server-sent events of an answer. The headers are sent with the first byte, so a failure before it
// is an answer with a status.
import { beginEventStream } from '../../api/event-frame.ts';
import { ANSWERED, type AnyRequest } from '../../api/route.ts';

export interface SseSink {
  /** True once something was sent. */
  readonly isOpen: boolean;
  write(text: string): void;
  /** A comment: nothing between closes a connection that is not silent. */
  beat(): void;
  end(text: string): void;
}

/** Ends a request whose client has left, without an answer. */
export function abandon({ reply }: Pick<AnyRequest, 'reply'>): typeof ANSWERED {
  reply.hijack();
  return ANSWERED;
}

/** Makes it; `headers` is asked when the answer begins. */
export function sseSink({ reply }: Pick<AnyRequest, 'reply'>, headers: () => Record<string, string>): SseSink {
  let isOpen = false;
  function open(): void {
    if (isOpen) return;
    isOpen = true;
    beginEventStream(reply, headers());
  }
  function write(text: string): void {
    open();
    if (!reply.raw.destroyed) reply.raw.write(text);
  }
  return {
    get isOpen() {
      return isOpen;
    },
    write,
    beat: () => write(': alive\n\n'),
    end(text) {
      write(text);
      reply.raw.end();
    },
  };
}
