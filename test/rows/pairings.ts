import { table } from './table.ts';

export const {
  read: readPairingRows,
  change: changePairings,
  add: addPairings,
} = table('pairings', 'id', {
  text: 'id channel account senderId chatId sessionId code status',
  'int?': 'slot',
  time: 'createdAt expiresAt',
  'text?': 'senderName threadId decidedBy',
  'time?': 'decidedAt',
});
