import { table } from './table.ts';

export const { read: readChannelGates, change: changeChannelGates } = table('channel_gates', 'place', {
  text: 'place',
  time: 'nextAt',
});
