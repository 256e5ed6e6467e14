// What a turn has said already with the `message` tool: its last answer is not sent when it says the same to the same chat again. Read
// from the transcript, so a worker that took the turn over knows it too.
import { toolUsesOf } from '../../core/content.ts';
import type { InboundMessage } from '../../core/inbound.ts';
import { chatRouteOf, isOwnChat, saysTheSame, type MessageAddress } from '../../core/message-route.ts';
import { MESSAGE_TOOL } from '../../tools/message-tool.ts';
import type { OpenedTurn } from '../opened-turn.ts';

/** True when the reply was sent to the chat that it answers. Of turns that answer no message it is not known, so they send it. */
export function wasSentByTool({ journal, transcript }: OpenedTurn, reply: string): boolean {
  const last = journal.at.inputs.at(-1);
  if (last?.kind !== 'message') return false;
  const own = chatRouteOf(last.body as InboundMessage, undefined);
  const { entries } = transcript;
  const failed = new Set<string>();
  for (let at = entries.length - 1; at >= 0; at -= 1) {
    const entry = entries[at];
    if (entry === undefined || entry.seq <= journal.attempt.requests.rules.promptSeq) break;
    for (const block of entry.content) {
      if (block.type === 'tool_result' && block.is_error === true) failed.add(block.tool_use_id);
    }
    const isSent = toolUsesOf(entry.content).some(({ id, name, input }) => {
      if (name !== MESSAGE_TOOL || failed.has(id)) return false;
      const { message, ...address } = input as MessageAddress & { message?: unknown };
      return typeof message === 'string' && saysTheSame(message, reply) && isOwnChat(address, own);
    });
    if (isSent) return true;
  }
  return false;
}
