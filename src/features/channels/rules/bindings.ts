// Which agent gets the messages of a chat: the most specific binding that matches, otherwise the
// first agent. Messages that come in, tools and crons ask this one function.

/** What a binding may ask of a place. */
interface BindingMatch {
  channel?: string;
  accountId?: string;
  guild?: string;
  team?: string;
  chatId?: string;
  threadId?: string;
}

/** A binding with its place in `bindings` of the configuration. */
export interface PlacedBinding {
  index: number;
  agent: string;
  match: BindingMatch;
}

interface BindingSettings {
  agents: { list: readonly { id: string }[] };
  bindings: readonly { agent: string; match: BindingMatch }[];
}

/**
 * A chat of an account. `guild`: the server of Discord; `team`: the workspace of Slack. What is
 * absent matches only bindings that do not ask for it.
 */
export interface BoundPlace extends BindingMatch {
  channel: string;
}

/**
 * The agent of a place. `binding` is null where none matches; `candidates` are all that match, the
 * most specific first.
 */
export interface BoundAgent {
  agent: string;
  binding: PlacedBinding | null;
  candidates: PlacedBinding[];
}

/**
 * The keys of a match, the most specific first. A server of Discord and a workspace of Slack are
 * the same level: no place has both.
 */
const LEVELS: readonly (readonly (keyof BindingMatch)[])[] = [
  ['threadId'],
  ['chatId'],
  ['guild', 'team'],
  ['accountId'],
  ['channel'],
];
const KEYS = LEVELS.flat();

/** The bindings in the order of the configuration, and the agent of places that none matches. */
export function listBindings({ agents, bindings }: BindingSettings): { defaultAgent: string; items: PlacedBinding[] } {
  const items = bindings.map(({ agent, match }, index) => ({ index, agent, match }));
  return { defaultAgent: agents.list[0]?.id ?? 'main', items };
}

/** The agent that a place is bound to. */
export function findBinding(settings: BindingSettings, place: BoundPlace): BoundAgent {
  const { defaultAgent, items } = listBindings(settings);
  const candidates = items
    .filter(({ match }) => KEYS.every((key) => match[key] === undefined || match[key] === place[key]))
    .toSorted((one, other) => specificityOf(other.match) - specificityOf(one.match));
  const [binding = null] = candidates;
  return { agent: binding?.agent ?? defaultAgent, binding, candidates };
}

/**
 * The first binding with the same specificity that matches the same chats and names another agent;
 * -1: there is none.
 */
export function indexOfRival(bindings: BindingSettings['bindings'], at: number): number {
  const own = bindings[at];
  if (own === undefined) return -1;
  // Bindings of one specificity have the same keys, so a place matches both only if their values
  // are equal.
  return bindings.findIndex(
    ({ agent, match }) => agent !== own.agent && KEYS.every((key) => match[key] === own.match[key]),
  );
}

/** One bit for each level: a binding with a more specific key outranks all that lack it. */
function specificityOf(match: BindingMatch): number {
  return LEVELS.reduce((bits, keys) => bits * 2 + (keys.some((key) => match[key] !== undefined) ? 1 : 0), 0);
}
