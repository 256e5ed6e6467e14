// An entry of an active path, as compaction reads it. A summary is first, all others in the order of the numbers.
import type { Entry } from '../entry.ts';

export type PathEntry = Pick<Entry, 'seq' | 'kind' | 'role' | 'content'>;
