// Loads the platforms that send requests when a process with the API starts, so that the first request does not wait for it: Slack gives it 3 s.
import type { Process, ProcessPart } from '../../kernel/process-part.ts';
import { listAccounts, platformOf } from './accounts.ts';

/** Never rejects: what is wrong with an account is the answer to its requests. */
export async function loadWebhooks({ service: { config } }: Pick<Process, 'service'>): Promise<ProcessPart> {
  const accounts = listAccounts(config).filter(({ mode }) => mode === 'webhook');
  await Promise.allSettled(accounts.map((account) => platformOf(config, account)));
  return {};
}
