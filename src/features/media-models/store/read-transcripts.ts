// The transcripts of audio that a session has already, in any of its turns and whatever became of
// these.
import type { SessionId } from '../../../core/ids.ts';
import { literalQuery } from '../../../database/literal-query.ts';

export interface StoredTranscript {
  turnId: string;
  messageId: string;
  /** The place of the attachment among those of its message. */
  at: number;
  text: string;
}

// A failed transcript counts for its own turn alone: the message may be tried again.
export const readTranscripts = literalQuery({
  name: 'read-transcripts',
  purpose: 'Read the transcripts of the audio of messages, those of their newest turn last.',
  text: `select e.turn_id as "turnId", e.provenance ->> 'messageId' as "messageId", (e.provenance ->> 'at')::int as at, e.content -> 0 ->> 'text' as text,
  coalesce((e.provenance ->> 'isFailed')::boolean, false) as "isFailed"
from holdfast.entries e
where e.session_id = $1 and e.kind = 'steer' and e.provenance ->> 'kind' = 'transcript' and e.provenance ->> 'messageId' = any ($2::text[])
order by e.seq desc`,
  values: (sessionId: SessionId, audio: readonly { messageId: string }[]) => [
    sessionId,
    [...new Set(audio.map(({ messageId }) => messageId))],
  ],
  answer: (rows: (StoredTranscript & { isFailed: boolean })[]) => rows,
});
