// An entry of an active path, as far as compaction looks at it. A summary stands first, everything else in the order of the numbers.
import type { Entry } from '../entry.ts';

export type PathEntry = Pick<Entry, 'seq' | 'kind' | 'role' | 'content'>;
