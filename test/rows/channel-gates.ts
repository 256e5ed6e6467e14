import { table } from './table.ts';

export const {
  read: readChannelGates,
  change: changeChannelGates,
  add: addChannelGates,
} = table('channel_gates', 'place', {
  text: 'place',
  time: 'nextAt',
});
