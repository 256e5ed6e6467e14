// The rate limits of a worker's turns.
import type { Config } from '../../config.ts';
import { toRateLimits, type RateLimit } from '../../core/rate-limit.ts';
import type { TurnFeature, TurnParts } from '../../kernel/turn/context.ts';
import { claimRates, openRateWindows } from './claim-rates.ts';
import { expectedTokens, RateLimits } from './rate-limits.ts';

/** Keeps the calls of all workers below the configured rate limits. */
export function limitsOfTurns({ config, clock, database, owner, model, recentOutputs }: TurnParts): TurnFeature {
  const check = new RateLimits({
    limits: liveLimits(config),
    clock,
    accountOf: (named) => model.accountOf(named),
    tokensOf: (call) => expectedTokens(recentOutputs, call),
    store: {
      open: (asks) => openRateWindows(database, asks),
      claim: (asks) => claimRates(database, owner, asks),
    },
    onFault: (error) => database.outages.report(error, 'Rate limits could not be read'),
  });
  return { check };
}

/** The rate limits of the running configuration; the same list while they are the same. */
function liveLimits(config: Config): () => readonly RateLimit[] {
  let known = { written: config.models.limits, limits: toRateLimits(config.models.limits) };
  return () => {
    const written = config.models.limits;
    if (known.written !== written) known = { written, limits: toRateLimits(written) };
    return known.limits;
  };
}
