import { table } from './table.ts';

export const { read: readSearchPosition, change: changeSearchPosition } = table('search_position', 'singleton', {
  bool: 'singleton',
  'int?': 'afterId',
});
