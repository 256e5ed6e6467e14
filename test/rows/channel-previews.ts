import { table } from './table.ts';

export const { add: addChannelPreviews, read: readChannelPreviews } = table('channel_previews', 'turn_id', {
  text: 'turnId url',
  'text?': 'platformId',
  bool: 'isFinal',
});
