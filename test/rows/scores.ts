import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const { count: countScores } = table(
  'scores',
  'id',
  { text: 'id sessionId turnId author source', 'text?': 'messageId label note', 'int?': 'score' },
  { ordinary: () => ({ id: newId<string>(), author: 'test', source: 'api' }) },
);
