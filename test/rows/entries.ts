import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const {
  read: readEntries,
  count: countEntries,
  change: changeEntries,
  add: addEntries,
  remove: removeEntries,
} = table(
  'entries',
  'session_id, seq',
  {
    text: 'sessionId id kind role turnId state contentText',
    int: 'seq transcriptNo',
    'int?': 'parentSeq retiredSeq',
    json: 'content',
    time: 'createdAt',
    'json?': 'parts provenance',
    'text?': 'text',
  },
  {
    ordinary: () => ({ id: newId<string>(), transcriptNo: 1 }),
    computed: { text: "content -> 0 ->> 'text'", contentText: 'content::text' },
  },
);

export const { read: readCompactions, add: addCompactions } = table(
  'compactions',
  'id',
  {
    text: 'id sessionId turnId reason status',
    int: 'transcriptNo attempt tokensBefore',
    'int?': 'firstKeptSeq tokensAfter',
    'json?': 'pinnedSeqs memory audit error',
    'text?': 'summary',
    time: 'startedAt',
    'time?': 'endedAt',
  },
  { ordinary: () => ({ id: newId<string>() }) },
);

export const {
  read: readEndedTranscripts,
  count: countEndedTranscripts,
  add: addEndedTranscripts,
} = table('ended_transcripts', 'session_id, transcript_no', {
  text: 'sessionId',
  int: 'transcriptNo lastSeq',
  time: 'endedAt',
});

export const {
  read: readSnapshots,
  add: addSnapshots,
  remove: removeSnapshots,
  change: changeSnapshots,
} = table('snapshots', 'sha256', {
  text: 'sha256',
  json: 'content',
  time: 'createdAt',
});
