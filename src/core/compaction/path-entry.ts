// An entry of an active path, as compaction reads it. A summary is first, everything else in the order of the numbers.
import type { Entry } from '../entry.ts';

export type PathEntry = Pick<Entry, 'seq' | 'kind' | 'role' | 'content'>;
