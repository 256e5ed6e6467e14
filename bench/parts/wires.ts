// (w) Turns per second with models of other providers, each to those of Anthropic in the same
// rounds: the same turns, the same process of the scripted model, another wire.
import { alternate } from '../rig/alternate.ts';
import type { BarLine } from '../rig/bar.ts';
import { withService, type BenchContext, type BenchPart } from '../rig/bench-context.ts';
import { describeLoads } from '../rig/closed-loop.ts';
import { turnText } from '../rig/prompts.ts';

export const wires: BenchPart = { letter: 'w', title: 'turns with models of other providers', run };

const sessions = 64;
const model = 'scripted-1';

const others = ['openai', 'chat', 'google'] as const;
const titleOf = { openai: 'Responses', chat: 'Chat Completions', google: 'Gemini' };

async function run(context: BenchContext): Promise<BarLine[]> {
  const { rounds, turnsEach, warmUpTurns } = context.isQuick
    ? { rounds: 3, turnsEach: 6, warmUpTurns: 4 }
    : { rounds: 7, turnsEach: 10, warmUpTurns: 12 };
  const { url } = context.model;
  const providers = {
    openai: { baseUrl: `${url}/v1`, apiKey: 'scripted' },
    google: { baseUrl: `${url}/v1beta`, apiKey: 'scripted' },
    chat: { api: 'openai-compatible', baseUrl: `${url}/v1`, apiKey: 'scripted' },
  };
  return await withService(context, { settings: { models: { providers } } }, async (service) => {
    const load = { sessions, turnsEach, text: turnText };
    const names = ['anthropic', ...others] as const;
    context.say('warming up each wire');
    for (const name of names) await service.run({ ...load, model: `${name}/${model}`, turnsEach: warmUpTurns });
    context.say(`the four wires by turns, ${rounds} rounds`);
    const { runsOf, ratioOf } = await alternate(
      rounds,
      names.map((name) => ({ name, measure: () => service.run({ ...load, model: `${name}/${model}` }) })),
      ({ turnsPerSecond }) => turnsPerSecond,
    );
    return others.map((name) => ({
      part: 'w',
      what: `turns/s at 64 sessions, ${titleOf[name]}`,
      floor: `${describeLoads(runsOf('anthropic'))}: Messages`,
      holdfast: describeLoads(runsOf(name)),
      measured: ratioOf(name, 'anthropic'),
      unit: 'x',
      bar: 0.8,
      sense: 'atLeast',
    }));
  });
}
