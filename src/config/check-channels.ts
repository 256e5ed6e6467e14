// Refuses bindings that name what does not exist, or that contradict each other, and lists of ids with something else in them: a message would go
// to another agent than was meant, or a person would be let in by a name that anyone can take.
import { indexOfRival } from '../features/channels/rules/bindings.ts';
import type { Refuse } from './config-error.ts';
import { findClosest } from './find-closest.ts';
import type { FileSettings } from './schema.ts';

/** Names that are part of addresses as they are. */
const ADDRESSED = /^[\w.-]+$/;

/** Ids of a platform never begin with these: they mark user names and names of channels, and stand for all. */
const NAME = /^[@#*]/;

/** Refuses what is wrong in `bindings` and in the lists of ids of `channels`. */
export function checkChannels({ channels, agents, bindings }: FileSettings, refuse: Refuse): void {
  const { platforms } = channels;
  const agentIds = agents.list.map(({ id }) => id);
  for (const [at, { agent, match }] of bindings.entries()) {
    const { channel, accountId, guild, team } = match;
    const path = `bindings[${at}]`;
    if (!agentIds.includes(agent)) refuse(`${path}.agent`, agent, `the id of an agent (${hintFor(agent, agentIds)})`);
    const isKnown = channel === undefined || Object.hasOwn(platforms, channel);
    if (!isKnown)
      refuse(`${path}.match.channel`, channel, `a key below "channels" (${hintFor(channel, Object.keys(platforms))})`);
    const possible = channel === undefined ? Object.values(platforms) : [platforms[channel]];
    const accounts = possible.flatMap((each) => Object.keys(each?.accounts ?? {}));
    if (isKnown && accountId !== undefined && !accounts.includes(accountId))
      refuse(`${path}.match.accountId`, accountId, `the name of an account (${hintFor(accountId, accounts)})`);
    if (guild !== undefined && team !== undefined)
      refuse(`${path}.match`, match, 'guild (Discord) or team (Slack): no chat has both');
    const rival = indexOfRival(bindings, at);
    if (rival >= 0 && rival < at)
      refuse(path, bindings[at], `another match than that of bindings[${rival}], which names another agent`);
  }
  for (const [channel, { adapter, accounts = {} }] of Object.entries(platforms))
    for (const [account, settings] of Object.entries(accounts)) {
      const named = [
        [`channels.${channel}`, channel],
        [`channels.${channel}.accounts.${account}`, account],
      ] as const;
      for (const [path, name] of named)
        if (adapter !== undefined && !ADDRESSED.test(name))
          refuse(path, name, 'a name of letters, digits, ".", "_" and "-": it is part of the addresses of chats');
      for (const list of ['allowFrom', 'groupAllow'] as const)
        for (const [at, id] of settings[list].entries())
          if (NAME.test(id))
            refuse(
              `channels.${channel}.accounts.${account}.${list}[${at}]`,
              id,
              'an id of the platform, such as 123456789 or U0123ABCD; names can be changed by their bearers, and "open" as the policy lets everybody in',
            );
    }
}

function hintFor(name: string, known: readonly string[]): string {
  const close = findClosest(name, known);
  if (close !== undefined) return `did you mean ${JSON.stringify(close)}?`;
  return known.length === 0 ? 'there is none' : `known: ${known.join(', ')}`;
}
