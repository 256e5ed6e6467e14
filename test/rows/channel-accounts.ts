import { table } from './table.ts';

export const {
  read: readChannelAccounts,
  add: addChannelAccounts,
  change: changeChannelAccounts,
} = table('channel_accounts', 'channel', {
  text: 'channel account',
  'text?': 'botId position owner lastError',
  bool: 'isPaused',
  int: 'epoch',
  'time?': 'leaseExpiresAt connectedAt lastReceivedAt',
});
