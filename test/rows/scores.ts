import { newId } from '../../src/ids.ts';
import { table } from './table.ts';

export const { read: readScores, count: countScores } = table(
  'turn_scores',
  'author, name',
  { text: 'id sessionId turnId author source name', 'text?': 'messageId note', json: 'value' },
  { ordinary: () => ({ id: newId<string>(), author: 'test', source: 'api' }) },
);

/** Scores as versions before migration 0112 write them. */
export const {
  read: readEarlierScores,
  add: addEarlierScores,
  change: changeEarlierScores,
} = table(
  'scores',
  'id',
  { text: 'id sessionId turnId author source', 'text?': 'messageId label note', 'int?': 'score' },
  { ordinary: () => ({ id: newId<string>(), author: 'test', source: 'api' }) },
);
