// Deletes the files of clients that have expired.
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { trims } from '../../kernel/queue/start-rounds.ts';
import { trimClientFiles } from './store/client-files.ts';

export function openFileRounds({ service: { config, database } }: Process): ProcessPart {
  return { rounds: [trims('files', () => trimClientFiles(database, config.batches.retention))] };
}
