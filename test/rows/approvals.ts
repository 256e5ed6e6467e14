import { table } from './table.ts';

export const {
  read: readApprovals,
  change: changeApprovals,
  add: addApprovals,
} = table('approvals', 'id', {
  text: 'id sessionId turnId callId tool folder whatSha256 status',
  int: 'step ordinal',
  json: 'input reasons',
  time: 'requestedAt expiresAt',
  'text?': 'decidedBy note',
  'time?': 'decidedAt',
});
