import { table } from './table.ts';

export const { change: changeSearchPosition } = table('search_position', 'singleton', {
  bool: 'singleton',
  'int?': 'afterId',
});
