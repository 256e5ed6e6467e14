// The providers, from the calls of their models, the blocks of these, and the turns that wait for
// them. Pure.

export const PROVIDER_STATES = ['open', 'limited', 'away', 'blocked'] as const;

interface CalledModel {
  model: string;
  calls: number;
  failures: number;
}

/** A block that lasts. */
export interface LastingBlock {
  model: string;
  /** The model does not answer; otherwise its provider has asked for no calls. */
  isAway: boolean;
  until: string;
  /** What the provider said. */
  text: string | null;
}

/** Turns that are parked for one reason. */
export interface ModelWait {
  /** The provider, or provider/model. */
  by: string | null;
  code: string;
  count: number;
  /** When the first of them continues; null: not known. */
  until: string | null;
}

/** The most that are shown. */
const PROVIDERS_MAX = 20;

/**
 * Each provider with its state: the worst of what holds for one of its models. Most calls first.
 */
export function toProviders(
  models: readonly CalledModel[],
  blocks: readonly LastingBlock[],
  waits: readonly ModelWait[],
) {
  const nameOf = (ref: string): string => ref.split('/', 1)[0] ?? ref;
  const names = new Set([...models, ...blocks].map(({ model }) => nameOf(model)));
  for (const { by } of waits) if (by !== null) names.add(nameOf(by));
  const providers = [...names].map((provider) => {
    const isOwn = ({ model }: { model: string }): boolean => nameOf(model) === provider;
    const own = models.filter(isOwn);
    const held = waits.filter(({ by }) => by !== null && nameOf(by) === provider);
    const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);
    return {
      provider,
      ...stateOf(
        blocks.filter(isOwn),
        held.filter(({ code }) => code !== 'provider_batch'),
      ),
      calls: sum(own.map(({ calls }) => calls)),
      failures: sum(own.map(({ failures }) => failures)),
      inBatches: sum(held.filter(({ code }) => code === 'provider_batch').map(({ count }) => count)),
    };
  });
  return providers
    .toSorted((one, other) => other.calls - one.calls || one.provider.localeCompare(other.provider))
    .slice(0, PROVIDERS_MAX);
}

type State = { state: (typeof PROVIDER_STATES)[number]; until: string | null; text: string | null };

function stateOf(blocks: readonly LastingBlock[], waits: readonly ModelWait[]): State {
  const block = blocks.find(({ isAway }) => !isAway) ?? blocks[0];
  if (block !== undefined) {
    const { model, isAway, until, text } = block;
    const usual = isAway ? 'It does not answer.' : 'The provider has asked for no calls.';
    return { state: isAway ? 'away' : 'blocked', until, text: `${model}: ${text ?? usual}` };
  }
  const [wait] = waits;
  if (wait === undefined) return { state: 'open', until: null, text: null };
  const turns = wait.count === 1 ? '1 turn waits' : `${wait.count} turns wait`;
  const reason =
    wait.code === 'rate_limited' ? 'for room in the rate limits (models.limits)' : 'to repeat a failed call';
  return { state: 'limited', until: wait.until, text: `${wait.by}: ${turns} ${reason}.` };
}
