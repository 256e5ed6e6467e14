// What is known of the models of all providers: how much they take, what they take, and how they can be made to think. Anthropic's come from
// src/core/models.ts, the others from a list that scripts/write-catalogue.ts writes; `models.catalogue` of the configuration adds to both. A model
// that is not listed works as well.
import { THINKING_LEVELS, type ThinkingLevel } from '../../prompt/thinking-directive.ts';
import { KNOWN_MODELS } from '../models.ts';
import type { WrittenPriceRow } from '../prices/price-row.ts';
import listed from './models.json' with { type: 'json' };

export const MODEL_INPUTS = ['text', 'image'] as const;

/** What a model is; null: not known. */
export interface ModelFacts {
  /** The window and the longest answer, in tokens. */
  contextTokens: number | null;
  maxOutputTokens: number | null;
  input: readonly (typeof MODEL_INPUTS)[number][] | null;
  thinking: readonly ThinkingLevel[] | null;
}

export interface CatalogueRow extends ModelFacts {
  /** `provider/model`. */
  model: string;
  /** Where the facts are from. */
  source: string;
  /** The day on which they were compared with the source last, as YYYY-MM-DD; null: not known. */
  checkedAt: string | null;
}

/** A row of `models.catalogue`: what it leaves out is what the built-in row says. */
export type WrittenFacts = { [Fact in keyof ModelFacts]?: NonNullable<ModelFacts[Fact]> | undefined };

const UNKNOWN: ModelFacts = { contextTokens: null, maxOutputTokens: null, input: null, thinking: null };

const ANTHROPIC: readonly CatalogueRow[] = Object.entries(KNOWN_MODELS).map(
  ([model, { contextTokens, outputTokensMax }]) => ({
    model: `anthropic/${model}`,
    contextTokens,
    maxOutputTokens: outputTokensMax,
    input: MODEL_INPUTS,
    thinking: THINKING_LEVELS,
    source: 'https://platform.claude.com/docs/en/models/overview',
    checkedAt: '2026-10-31',
  }),
);

const OTHERS = listed.models.map(({ model, contextTokens, maxOutputTokens, input, thinking }) => ({
  model,
  contextTokens,
  maxOutputTokens,
  // Texts in JSON have no narrower type; a test holds that they are these.
  input: input as ModelFacts['input'],
  thinking: thinking as ModelFacts['thinking'],
  source: listed.source,
  checkedAt: listed.checkedAt,
}));

const BUILT_IN: ReadonlyMap<string, CatalogueRow> = new Map([...ANTHROPIC, ...OTHERS].map((row) => [row.model, row]));

/** The prices of the list, as rows of the price table; a model whose price is not known has none. */
export const LISTED_PRICES: readonly WrittenPriceRow[] = listed.models.flatMap(
  ({ model, inputPerMTok, outputPerMTok, cacheReadPerMTok, longPrompt }) =>
    inputPerMTok === undefined
      ? []
      : [
          {
            model,
            inputPerMTok,
            outputPerMTok,
            ...(cacheReadPerMTok === undefined ? {} : { cacheReadPerMTok }),
            ...(longPrompt === undefined ? {} : { longPrompt }),
            source: listed.source,
            checkedAt: listed.checkedAt,
          },
        ],
);

/** The row of a model, given as `provider/model`; null: nothing is known of it. */
export function catalogueRow(configured: Readonly<Record<string, WrittenFacts>>, ref: string): CatalogueRow | null {
  const builtIn = BUILT_IN.get(ref) ?? null;
  const written = Object.hasOwn(configured, ref) ? configured[ref] : undefined;
  if (written === undefined) return builtIn;
  const { contextTokens, maxOutputTokens, input, thinking } = builtIn ?? UNKNOWN;
  return {
    model: ref,
    contextTokens: written.contextTokens ?? contextTokens,
    maxOutputTokens: written.maxOutputTokens ?? maxOutputTokens,
    input: written.input ?? input,
    thinking: written.thinking ?? thinking,
    source: 'models.catalogue',
    checkedAt: null,
  };
}

/** All rows: those of the configuration first, then the built-in ones in the order of their lists. */
export function listCatalogue(configured: Readonly<Record<string, WrittenFacts>>): CatalogueRow[] {
  const refs = new Set([...Object.keys(configured), ...BUILT_IN.keys()]);
  return [...refs].flatMap((ref) => catalogueRow(configured, ref) ?? []);
}
