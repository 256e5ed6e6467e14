// Backup and restore of the embedded database with the files of the data directory, in one file. It
// reads one snapshot of every table while the service runs, and checks the whole file before it
// restores anything.
import type { Feature } from '../../kernel/features.ts';

export const backup: Feature = {
  name: 'backup',
  commands: [
    [
      () => import('./commands.ts'),
      {
        'backup [options] <file>': [
          'Run',
          'write the embedded database and the files of the data directory to a file; works while the service runs',
        ],
        'restore [options] <file>': ['Run', 'restore what "holdfast backup" has written; the service must not run'],
      },
    ],
  ],
};
