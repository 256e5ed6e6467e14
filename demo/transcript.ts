// The transcript of a session, as chapters read it.
import type { EntryView } from '../src/contract/transcripts.ts';
import type { ListAnswer } from '../src/contract/answers.ts';
import type { Scene } from './chapter.ts';

/** The entries of a session, oldest first; with `all`, also those that no request shows. */
export async function entriesOf({ stage }: Scene, sessionKey: string, shown?: 'all'): Promise<EntryView[]> {
  const path = `/v1/sessions/${sessionKey}/transcript?limit=200${shown === undefined ? '' : `&state=${shown}`}`;
  return (await stage.read<ListAnswer<EntryView>>(path)).items;
}

/** The text of an entry. */
export function textOf({ content }: EntryView): string {
  return content.map(({ text }) => (typeof text === 'string' ? text : '')).join('\n');
}

/** The prompt of a turn; empty when it has none. */
export function promptOf(entries: readonly EntryView[], turnId: string | null): string {
  const prompt = entries.find((entry) => entry.turnId === turnId && entry.kind === 'prompt');
  return prompt === undefined ? '' : textOf(prompt);
}
