import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const {
  read: readEntries,
  count: countEntries,
  add: addEntries,
} = table(
  'entries',
  'session_id, seq',
  {
    sessionId: 'text',
    seq: 'int',
    id: 'text',
    transcriptNo: 'int',
    parentSeq: 'int?',
    kind: 'text',
    role: 'text',
    content: 'json',
    turnId: 'text',
    state: 'text',
    createdAt: 'time',
    retiredSeq: 'int?',
    parts: 'json?',
    provenance: 'json?',
    text: 'text?',
    contentText: 'text',
  },
  {
    ordinary: () => ({ id: newId<string>(), transcriptNo: 1 }),
    computed: { text: "content -> 0 ->> 'text'", contentText: 'content::text' },
  },
);

export const { read: readCompactions } = table('compactions', 'id', {
  id: 'text',
  sessionId: 'text',
  transcriptNo: 'int',
  turnId: 'text',
  reason: 'text',
  status: 'text',
  attempt: 'int',
  firstKeptSeq: 'int?',
  pinnedSeqs: 'json?',
  summary: 'text?',
  memory: 'json?',
  tokensBefore: 'int',
  tokensAfter: 'int?',
  audit: 'json?',
  error: 'json?',
  startedAt: 'time',
  endedAt: 'time?',
});

export const { read: readSnapshots, add: addSnapshots } = table('snapshots', 'sha256', {
  sha256: 'text',
  content: 'json',
  createdAt: 'time',
});
