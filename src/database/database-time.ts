// The time of the database: the clock of every schedule, whatever the clocks of the processes say.
import { literalQuery } from './literal-query.ts';

export const readDatabaseTime = literalQuery({
  name: 'database-time',
  purpose: 'Read the time of the database, by which slots are due (G8), in milliseconds since the epoch.',
  pool: 'views',
  retryMs: 0,
  text: 'select clock_timestamp() as now',
  // One row.
  answer: ([row]: { now: Date }[]) => row!.now.getTime(),
});
