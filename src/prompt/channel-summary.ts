// The description of the agent's channels for a new main session: one line for each channel, and one for each account.
import { literal } from './literal.ts';

export interface ConfiguredChannel {
  /** As messages name it, `telegram`. */
  name: string;
  label?: string;
  isEnabled: boolean;
  /** The agent's own number there. */
  phone?: string;
  accounts: readonly { id: string; name?: string; details: readonly string[] }[];
}

/** The lines in the order of the channels' names; each becomes a `System:` line of the prompt. */
export function channelSummary(channels: readonly ConfiguredChannel[]): string[] {
  return channels.toSorted((a, b) => (a.name < b.name ? -1 : 1)).flatMap(formatChannel);
}

function formatChannel({ name, label, isEnabled, phone, accounts }: ConfiguredChannel): string[] {
  const title = literal(label ?? name.charAt(0).toUpperCase() + name.slice(1));
  const number = phone === undefined ? '' : ` ${literal(phone)}`;
  if (!isEnabled) return [`${title}: disabled`];
  return [`${title}: configured${number}`, ...accounts.map(accountLine)];
}

function accountLine({ id, name, details }: ConfiguredChannel['accounts'][number]): string {
  const called = name === undefined ? '' : ` (${literal(name)})`;
  const more = details.length === 0 ? '' : ` (${details.map(literal).join(', ')})`;
  return `  - ${literal(id)}${called}${more}`;
}
